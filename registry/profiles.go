package registry

import (
	"context"
	"regexp"
)

// A Profile is what one client does to a catalog: a table of limits, each with
// the place where it is documented or was reported. Limits change; the sources
// were gathered in November 2026.
//
// The functions that return profiles return a new value each time, which may
// be changed: set Server, Budget, CountTokens and Exceptions, or a limit.
type Profile struct {
	Name string

	// NamePattern is what a tool's name must match.
	NamePattern Pattern
	// FullName bounds a tool's name with the server's name before it.
	FullName FullName
	// Ends is how many characters of a name that is too long are kept. Names
	// that are equal in those are one name to the client. If it keeps none, it
	// refuses a name that is too long.
	Ends Ends
	// PropertyKey is what the names of top-level parameters must match.
	PropertyKey Pattern
	// Tools bounds how many tools a client shows or a request may hold.
	Tools Limit
	// Description and Instructions bound texts, in characters.
	Description, Instructions Limit
	// EnumValues bounds the values of one enum.
	EnumValues Limit
	// Formats are the formats that the client knows, by JSON type. A nil map
	// means that any format will do.
	Formats       map[string][]string
	FormatsSource string
	// Refuses holds, for rules that are warnings in general, where it is said
	// that this client refuses what they find. Such findings are errors.
	Refuses map[string]string

	// Server is the name under which users are told to configure the server,
	// which clients put before a tool's. If empty, the listing's.
	Server string
	// Budget bounds what the catalog costs on every turn.
	Budget Budget
	// CountTokens counts the tokens of a tool's JSON. If nil, a token is four bytes.
	CountTokens func(ctx context.Context, json []byte) (int, error)
	// Exceptions are findings that are known and right.
	Exceptions []Exception
}

// A Limit is a number that a client does not go beyond. A Max of zero means
// that there is no limit.
type Limit struct {
	Max    int
	Source string
}

// A Pattern is a regular expression. A nil Expr matches everything.
type Pattern struct {
	Expr   *regexp.Regexp
	Source string
	Warns  bool // the client complains and goes on
}

// FullName says how a client joins names and what it bounds. Overhead is what
// it adds to both names together.
type FullName struct {
	Limit
	Form     string // for messages: "mcp__SERVER__TOOL"
	Overhead int
	Server   int // bytes of the server's name that are kept; 0 for all
}

// Ends are the parts of a long name that a client keeps.
type Ends struct {
	First, Last int
	Source      string
}

// A Budget is what a catalog may cost. A zero is no bound.
type Budget struct {
	ToolBytes int    `json:"toolBytes,omitempty"` // of one tool's JSON
	Bytes     int    `json:"bytes,omitempty"`     // of all tools
	Tokens    int    `json:"tokens,omitempty"`    // of all tools
	Source    string `json:"source,omitempty"`
}

// An Exception says that a finding is known and right, and why.
type Exception struct {
	Rule   string
	Tool   string // if empty, any
	Reason string // must not be empty
}

var (
	commonName  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	specName    = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,128}$`)
	propertyKey = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	geminiName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)
	commonChars = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

// Generic is what the specification says, and what good servers keep to.
func Generic() *Profile {
	return &Profile{
		Name:        "generic",
		NamePattern: Pattern{Expr: specName, Source: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names"},
		EnumValues:  Limit{256, "own rule: a longer list is data, and belongs into a lookup"},
		Budget:      Budget{ToolBytes: 8 << 10, Bytes: 40_000, Tokens: 10_000, Source: "own rule: clients lost catalogs of 53 kB and more (https://github.com/anthropics/claude-code/issues/51836)"},
	}
}

// Claude is the Claude API, Claude Code and claude.ai.
func Claude() *Profile {
	p := Generic()
	p.Name = "claude"
	p.NamePattern = Pattern{Expr: commonName, Source: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use"}
	p.FullName = FullName{Limit: Limit{64, "https://github.com/anthropics/claude-code/issues/16425 (the API takes 128, tool search 64) and https://github.com/anthropics/claude-code/issues/20643"}, Form: "mcp__SERVER__TOOL", Overhead: len("mcp____")}
	p.PropertyKey = Pattern{Expr: propertyKey, Source: "https://github.com/anthropics/claude-code/issues/79418 and https://github.com/twilio-labs/mcp/issues/58"}
	p.Description = Limit{2048, "https://github.com/anthropics/claude-code/issues/87650 and https://code.claude.com/docs/en/mcp (cut by Claude Code since 2.1)"}
	p.Instructions = p.Description
	p.Budget.Bytes, p.Budget.Source = 50_000, "https://github.com/anthropics/claude-code/issues/51836"
	p.Refuses = map[string]string{
		"schema-invalid":            "https://github.com/anthropics/claude-code/issues/63673",
		"schema-root-combinator":    "https://github.com/anthropics/claude-code/issues/5319",
		"schema-root-type":          "https://github.com/anthropics/claude-code/issues/88049",
		"schema-ref":                "https://github.com/anthropics/claude-code/issues/76881 and https://github.com/anthropics/claude-code/issues/18260",
		"schema-ref-recursive":      "https://github.com/anthropics/claude-code/issues/77106",
		"schema-nullable-container": "https://github.com/anthropics/claude-code/issues/58747 and https://github.com/c0tton-fluff/caido-mcp-server/issues/34",
	}
	return p
}

// OpenAI is the OpenAI API, Codex, and what speaks to models through them.
func OpenAI() *Profile {
	p := Generic()
	p.Name = "openai"
	p.NamePattern = Pattern{Expr: commonName, Source: "https://github.com/openai/codex/issues/8174 and https://github.com/microsoft/foundry-dev-tools/issues/201"}
	p.Description = Limit{1024, "https://github.com/getsentry/sentry-mcp/issues/106 (by model; newer ones take more)"}
	p.Tools = Limit{128, "https://github.com/openai/openai-openapi/pull/76 and https://github.com/musistudio/claude-code-router/issues/686"}
	p.Refuses = map[string]string{
		"schema-root-combinator": "https://github.com/langchain-ai/langchainjs/issues/9804",
		"schema-root-value":      "https://github.com/langchain-ai/langchainjs/issues/9804 and https://github.com/CherryHQ/stella/issues/781",
		"schema-no-properties":   "https://github.com/bnb-chain/bnbchain-mcp/issues/68",
		"schema-array-items":     "https://github.com/digitalocean-labs/mcp-digitalocean/issues/265",
	}
	return p
}

// Gemini is the Gemini API and Gemini CLI.
func Gemini() *Profile {
	p := Generic()
	p.Name = "gemini"
	p.NamePattern = Pattern{Expr: geminiName, Source: "https://cloud.google.com/vertex-ai/generative-ai/docs/reference/nodejs/1.1.0/vertexai/functiondeclaration and https://pub.dev/documentation/google_cloud_ai_generativelanguage_v1beta/latest/generativelanguage/FunctionDeclaration/name.html"}
	p.FullName = FullName{Limit: Limit{63, "https://github.com/google-gemini/gemini-cli/issues/28970"}, Form: "mcp_SERVER_TOOL", Overhead: len("mcp__")}
	p.Ends = Ends{30, 30, "https://github.com/google-gemini/gemini-cli/issues/28970"}
	p.Formats = map[string][]string{
		"string":  {"enum", "date-time"},
		"number":  {"float", "double"},
		"integer": {"int32", "int64"},
	}
	p.FormatsSource = "https://github.com/google-gemini/gemini-cli/issues/3178 and https://ai.google.dev/api/caching#Schema"
	p.Refuses = map[string]string{
		"schema-enum-type":           "https://github.com/microsoft/azure-devops-mcp/issues/145",
		"schema-implicit-type":       "https://github.com/anomalyco/opencode/pull/13150 and https://github.com/decolua/9router/issues/359",
		"schema-nullable-container":  "https://github.com/anomalyco/opencode/pull/43495",
		"schema-ref":                 "https://github.com/google-gemini/gemini-cli/issues/13326",
		"schema-ref-recursive":       "https://github.com/google-gemini/gemini-cli/issues/13326",
		"schema-required-undeclared": "https://github.com/Kilo-Org/kilocode/pull/11955",
		"schema-tuple":               "https://github.com/google-gemini/gemini-cli/issues/4415",
	}
	return p
}

// Cursor is the Cursor editor.
func Cursor() *Profile {
	p := Generic()
	p.Name = "cursor"
	p.NamePattern = Pattern{Expr: commonName, Source: "https://github.com/openai/codex/issues/8174 (the models behind it)"}
	// With the colon. A name of 59 behind a server's of 1 is filtered out, and
	// 53 behind 7, both of which the client reports as 60 without it.
	p.FullName = FullName{Limit: Limit{60, "https://github.com/ComposioHQ/composio/issues/2788 and https://github.com/PostHog/posthog/pull/51483"}, Form: "SERVER:TOOL", Overhead: len(":")}
	p.Tools = Limit{80, "https://github.com/Snowflake-Labs/mcp/issues/77 (of all servers together; it was 40)"}
	return p
}

// VSCode is Visual Studio Code with Copilot.
func VSCode() *Profile {
	const code = "https://github.com/microsoft/vscode/blob/main/src/vs/workbench/contrib/mcp/common/mcpServer.ts"
	p := Generic()
	p.Name = "vscode"
	p.NamePattern = Pattern{Expr: commonChars, Source: "https://github.com/microsoft/vscode/issues/308463 and " + code + ", which replaces other characters", Warns: true}
	p.FullName = FullName{Limit: Limit{64, "https://github.com/microsoft/vscode/issues/243602"}, Form: "mcp_SERVER_TOOL", Overhead: len("mcp__"), Server: 13}
	p.Ends = Ends{64, 0, code}
	p.Tools = Limit{128, "https://github.com/microsoft/vscode-copilot-release/issues/11653 (of all servers together; later versions group what is more)"}
	p.Refuses = map[string]string{"schema-array-items": "https://github.com/digitalocean-labs/mcp-digitalocean/issues/271"}
	return p
}

// Profiles returns every profile, the generic one first.
func Profiles() []*Profile {
	return []*Profile{Generic(), Claude(), OpenAI(), Gemini(), Cursor(), VSCode()}
}
