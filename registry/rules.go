package registry

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // the tool or the catalog does not work somewhere
	Warning Severity = "warning" // it works worse than it could, or breaks with some clients
	Info    Severity = "info"    // advice
)

// A Rule is something that [Lint] looks for. IDs are stable.
type Rule struct {
	ID       string
	Severity Severity // unless a profile says otherwise
	Why      string
	Fix      string
}

// Rules returns every rule, in the order of the documentation.
func Rules() []Rule { return append([]Rule(nil), rules...) }

var rules = []Rule{
	// Names.
	{"name-pattern", Error, "The client refuses the tool, or the whole catalog with it.", "Use letters, digits, underscores and hyphens, beginning with a letter."},
	{"name-prefix-budget", Error, "Clients put the server's name before the tool's; what gets too long is hidden or breaks the session.", "Shorten the tool's name, or tell users a shorter name for the server."},
	{"name-collision-ends", Error, "The client cuts long names, and what it keeps of these is equal: a call may run the other tool.", "Make the names differ within what is kept, or shorter."},
	{"name-duplicate", Error, "One of the two is never called.", "Rename one; when servers are merged, put each server's name before its tools."},
	{"name-folded-duplicate", Error, "Clients and models that change case or separators cannot tell the two apart.", "Rename one."},
	{"name-near-duplicate", Warning, "Models mix up names that differ in a synonym, a plural or the order of words.", "Say the difference in the name, or make them one tool."},
	{"name-opaque", Warning, "A model cannot tell from an identifier what the tool does, and gets its characters wrong.", "Name the tool after what it does."},
	{"text-invisible", Error, "Characters that nobody sees can carry instructions, and make equal texts differ.", "Remove them."},

	// Schemas.
	{"tool-invalid", Error, "The specification gives the member another type; clients that check reject the whole listing.", "Leave it out, or give it the type of the specification."},
	{"schema-missing", Error, "The specification requires an input schema.", `Give {"type":"object","properties":{}} to a tool without parameters.`},
	{"schema-root-type", Error, "Clients drop the tool, or every tool of the server, without a message.", `Put "type":"object" at the root.`},
	{"schema-invalid", Error, "This is no JSON Schema; APIs that check refuse the request with it.", "Give the keyword the value that JSON Schema 2020-12 has for it."},
	{"schema-root-combinator", Warning, "Arguments are one object; several APIs refuse alternatives of it.", "Make the alternatives optional parameters and check in the handler, or make them tools."},
	{"schema-root-value", Warning, "Arguments are one object; some APIs refuse what else the root says of it.", "Say it of a parameter, or check in the handler."},
	{"schema-no-properties", Warning, "Several APIs refuse an object without properties.", `Add "properties":{}; package registry does.`},
	{"schema-null", Error, "null is no schema; clients that expect an object fail.", "Leave it out."},
	{"schema-boolean", Warning, "Clients that expect an object for each property refuse true and false.", "Write a type instead of true (package registry writes {}), and nothing instead of false."},
	{"schema-untyped", Warning, "A model has to guess what to send, and clients guess differently.", "Give it a type."},
	{"schema-implicit-type", Warning, "What the keyword is about is left to be guessed; some APIs allow it beside its type only.", "Give the type: object with properties, array with items, string with an enum of texts."},
	{"schema-required-undeclared", Warning, "A model has to send something that nothing describes; some APIs refuse the request.", "Declare the property, or do not require it."},
	{"schema-array-items", Warning, "A model has to guess what the array holds, and some APIs refuse it.", "Describe the items."},
	{"schema-tuple", Warning, "Items that depend on their position are not understood by several APIs.", "Use an object with named properties, or one schema for all items."},
	{"schema-nullable", Warning, "Null beside a type tells a model to send null, where leaving the value out says the same.", "Make the parameter optional; package registry does."},
	{"schema-nullable-container", Warning, `["null", "array"] loses its type in some clients, which then send text, or cut the arguments off.`, "Make the parameter optional; package registry does."},
	{"schema-type-union", Warning, "Models and clients treat a value of several types as one of them, and not always the same.", "Choose one type; accept the others in the handler."},
	{"schema-enum-type", Warning, "Some APIs take strings only.", "Use strings, or a number with minimum and maximum."},
	{"schema-enum-size", Warning, "Every value is paid for on every turn.", "Use a string and a tool that looks values up."}, // advice up to the profile's bound
	{"schema-ref", Warning, "Several clients and APIs do not resolve references.", "Write the schema in place; package registry does."},
	{"schema-ref-recursive", Warning, "Clients that inline references cannot inline this one, and some lose the whole listing.", "Bound the depth, or take JSON text."},
	{"schema-ref-unresolved", Error, "The reference leads to nothing that the client has.", "Write the schema in place."},
	{"schema-format", Error, "The client refuses the format, and the request with it.", "Say the format in the description."},
	{"schema-property-key", Error, "The client refuses the parameter's name, and the request with it.", "Rename the parameter."},
	{"output-root-type", Error, "Clients before revision 2026-07-28 reject the whole listing.", "Wrap the output in an object."},

	// Hints.
	{"hint-missing", Warning, "Without hints a tool counts as destructive, and clients ask before each call.", "Set readOnlyHint, or destructiveHint to true or false."},
	{"hint-contradiction", Error, "A tool that only reads destroys nothing; clients run it without asking.", "Decide, and name the tool after it."},
	{"destructive-unexplained", Warning, "Neither the model nor the user learns what cannot be taken back.", "Say in the description what is lost and whether it can be undone, or take a confirmation parameter."},

	// Sizes of results.
	{"list-unbounded", Warning, "The result is as large as the data.", "Add limit and cursor; package pagination has them."},
	{"limit-unbounded", Warning, "A model that wants everything asks for a million.", "Set maximum."},

	// Texts.
	{"description-missing", Error, "The name is all that a model has to choose by.", "Say what the tool does, when to use it, and what it returns."},
	{"description-short", Warning, "A model chooses tools by their descriptions.", "Say what the tool does, when to use it, and what it returns."},
	{"description-long", Warning, "The client refuses what is longer, or cuts it without a word.", "Shorten it, with what matters first."},
	{"description-no-when", Info, "Among similar tools a model needs to know when this one is right.", "Say when to use it, and when another."},
	{"description-no-result", Info, "A model that does not know what comes back asks twice.", "Say what the tool returns."},
	{"description-near-duplicate", Warning, "A model cannot choose between tools that are described alike.", "Say in each how it differs from the other."},
	{"parameter-description", Info, "A model fills a parameter by its name alone.", "Describe each parameter."},
	{"parameter-unique-key", Warning, "A model that is told to make up a new key for every request defeats the key: a retry brings a new one, and the work is done twice.", "Derive the key from what is asked for, or recognize the request by its content."},
	{"parameter-credential", Error, "A secret in an argument is in the model's context, in logs and in transcripts.", "Take credentials from the request's token or the server's configuration."},
	{"parameter-identity", Warning, "Who calls must not be up to the model.", "Take the caller from the request's token or session."},
	{"instructions-long", Warning, "The client cuts the server's instructions.", "Shorten them, with what matters first."},

	// The catalog.
	{"tools-too-many", Error, "The client does not show them all.", "Put rarely used ones into groups that are switched on when needed, or behind a search."},
	{"budget-tool", Warning, "The definition is paid for on every turn.", "Shorten descriptions, or move rare parameters to a tool of their own."},
	{"budget-total", Warning, "The catalog is paid for on every turn; clients drop catalogs that are too large, without a message.", "See the table for what costs most."},
	{"catalog-crud", Warning, "One tool per endpoint makes a model do joins, and costs its bytes on every turn.", "Make tools of what users want done."},

	// Exceptions.
	{"exception-unused", Warning, "The exception hides nothing any more.", "Remove it."},
	{"exception-unreasoned", Error, "An exception without a reason cannot be judged later.", "Say why the finding is right."},
}

var ruleByID = func() map[string]Rule {
	m := make(map[string]Rule, len(rules))
	for _, r := range rules {
		m[r.ID] = r
	}
	return m
}()
