package discovery

import (
	"strings"
	"time"

	"github.com/steadymcp/steady/observe"
)

// Options configures a [Resolver]. The zero value is ready to use.
type Options struct {
	// Servers are names under which clients may know this server, as in
	// "mcp__github__list_issues" or "github.list_issues". The name that the
	// server itself announces is added when it passes by.
	Servers []string
	// Aliases, if non-nil, knows other names of tools and of their parameters.
	Aliases Aliases
	// Prefixes and Suffixes are further namespaces and endings that carry no
	// meaning, without separators: "acme" for "acme_search".
	Prefixes, Suffixes []string
	// Abbreviations are groups of spellings of one thing, such as
	// {"knowledge_base", "kb"}.
	Abbreviations [][]string
	// Synonyms are groups of words that callers exchange, such as
	// {"paper", "manuscript"}. Each exchange makes a match less certain.
	Synonyms [][]string
	// RouteWrites lets the steps that are not lossless also run tools that are
	// not annotated read-only, under stricter limits. Tools that may be
	// destructive are never among them.
	RouteWrites bool
	// RouteTools are tools that every step may run, whatever their annotations.
	RouteTools []string
	// Strict answers an unknown tool with the protocol error -32602 instead of
	// a result, and refuses text with leaked call markup for tools that write.
	Strict bool
	// Suggestions bounds how many names an answer proposes. If zero, 3; at most 10.
	Suggestions int
	// ListEvery is how long a tool that the server has listed counts as listed,
	// whoever asks. A call by its exact name, with arguments that fit, is then
	// passed on without asking for tools/list again, which takes longer the more
	// tools there are. If zero, the server is asked at each call, so that a tool
	// that is hidden from the caller, removed or replaced is treated as such at
	// once. Set it only where every caller sees the same tools, or where what
	// hides a tool refuses its calls as well; a second is enough.
	ListEvery time.Duration
	// Observer receives an event for each call. If nil, slog.Default logs them.
	Observer observe.Observer
}

// Aliases knows the other names that an operator has declared.
type Aliases interface {
	// ResolveAlias returns the tool that name stands for, and a notice for the
	// caller if the name is deprecated.
	ResolveAlias(name string) (tool, notice string, ok bool)
	// ArgumentAliases returns other names of a tool's parameters: the other
	// name is the key, the property the value.
	ArgumentAliases(tool string) map[string]string
}

// settings are Options, copied and made ready.
type settings struct {
	Options
	lex         *lexicon
	servers     []string
	prefixes    []string
	suffixes    []string
	aliases     Aliases
	suggestions int
	run         map[string]bool
}

func newSettings(opts *Options) *settings {
	s := &settings{}
	if opts != nil {
		s.Options = *opts
	}
	s.Observer = observe.Or(s.Observer)
	s.lex = builtin().extended(s.Abbreviations, s.Synonyms)
	for _, n := range s.Servers {
		if n = strings.TrimSpace(n); n != "" {
			s.servers = append(s.servers, n)
		}
	}
	for _, p := range s.Prefixes {
		if p = strings.Trim(p, "_-.:/ |"); p != "" {
			s.prefixes = append(s.prefixes, p)
		}
	}
	for _, p := range s.Suffixes {
		if p = strings.Trim(p, "_-.:/ |"); p != "" {
			s.suffixes = append(s.suffixes, p)
		}
	}
	s.aliases = s.Aliases
	s.suggestions = s.Suggestions
	if s.suggestions <= 0 {
		s.suggestions = 3
	}
	s.suggestions = min(s.suggestions, 10)
	s.run = make(map[string]bool, len(s.RouteTools))
	for _, t := range s.RouteTools {
		s.run[t] = true
	}
	return s
}

// mayRun reports whether a step that is not lossless may run e.
func (s *settings) mayRun(e *entry) bool {
	return e.readOnly || s.run[e.tool.Name] || s.RouteWrites && !e.destructive
}
