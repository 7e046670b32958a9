package discovery

import (
	"sort"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Step names the rule that led from the requested name to a tool.
type Step string

// The steps, in the order in which they are tried. Those up to StepAlias lose
// nothing or were declared, and may run any tool, unless what is left out may
// mean something: a sign such as "!" or "#", a suffix other than "_tool" and
// "_function", an "mcp__server__" that is none of Options.Servers. The others run a tool that
// is annotated read-only, or that the operator has opted in.
const (
	StepNone        Step = ""
	StepExact       Step = "exact"       // the very name
	StepClean       Step = "clean"       // without blanks, quotes, "()", invisible characters, control tokens
	StepAffix       Step = "affix"       // without the namespace of a client or the server, or a stray suffix
	StepFold        Step = "fold"        // another case or other separators
	StepAlias       Step = "alias"       // a declared other name
	StepSegment     Step = "segment"     // without a namespace that is nobody's we know
	StepNumber      Step = "number"      // without the number of a call
	StepPlural      Step = "plural"      // one and many
	StepAbbreviate  Step = "spelling"    // an abbreviation or another form of a word
	StepOrder       Step = "order"       // the same words in another order
	StepTypo        Step = "typo"        // typing errors
	StepVerb        Step = "verb"        // another word for the same action
	StepSynonym     Step = "synonym"     // another word for the same thing
	StepDropped     Step = "dropped"     // a word left out
	StepExtra       Step = "extra"       // a word added
	StepDescription Step = "description" // a word that only the tool's description has
)

// Lossless reports whether the step only removes what carries no meaning, or
// follows a declaration of the operator's.
func (s Step) Lossless() bool {
	switch s {
	case StepExact, StepClean, StepAffix, StepFold, StepAlias:
		return true
	}
	return false
}

// A Resolution is what became of a requested name.
type Resolution struct {
	// Requested is the name as it was sent.
	Requested string
	// Tool is the name of the tool to run, or "" if none is certain.
	Tool string
	// Step is the rule that led to Tool.
	Step Step
	// Reason says in words what differs between Requested and Tool, or why no
	// tool was chosen.
	Reason string
	// Alias is the declared other name, for StepAlias.
	Alias string
	// Notice is what the operator wants callers of a deprecated name to read.
	Notice string
	// Candidates are the nearest tools, best first, at most Options.Suggestions.
	// If Tool is set it is the first of them.
	Candidates []Candidate
}

// A Candidate is a tool that may have been meant.
type Candidate struct {
	Name string
	// Score is between 0 and 1; it orders candidates of one Resolution and
	// says nothing across Resolutions.
	Score float64
}

// Resolve finds the tool that requested means among tools, which are those
// that the caller may see. It is a pure function: it needs no server, and its
// result does not depend on the order of tools. A nil opts means the zero
// Options.
//
// It prepares tools anew for each call. A [Resolver] keeps what it has
// prepared.
func Resolve(requested string, tools []*mcp.Tool, opts *Options) Resolution {
	o := newSettings(opts)
	return buildIndex(tools, o).resolve(requested, o)
}

type rankedMatch struct {
	entry int32
	score float32
	match match
}

func sortCandidates(c []Candidate) {
	sort.SliceStable(c, func(i, j int) bool {
		if c[i].Score != c[j].Score {
			return c[i].Score > c[j].Score
		}
		return c[i].Name < c[j].Name
	})
}
