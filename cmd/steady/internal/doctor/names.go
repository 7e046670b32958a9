package doctor

import (
	"slices"
	"strings"
	"unicode"

	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

var nameProbes = []Probe{
	{ID: "unknown-tool", Severity: bad, Title: "a tool that does not exist is not refused as one",
		Sends: "a call of doctor_no_such_tool",
		Why:   "A model that called what is not there must learn it, from a result with isError or from -32602.",
		Fix:   "Answer with isError and the names that are near (package discovery), or with -32602."},
	{ID: "unknown-tool-hint", Severity: advice, Title: "a misspelled tool is refused without a hint",
		Sends: "a call of a tool's name with one letter changed",
		Why:   "A model that is told only what does not exist tries the same again.",
		Fix:   "Name the nearest tools (package discovery)."},
	{ID: "name-case", Severity: advice, Title: "a tool's name in another case leads nowhere",
		Sends: "a call of a tool's name in camel case, and in capitals",
		Why:   "Models call searchOrders for search_orders; the name is certain, and the turn is lost.",
		Fix:   "Resolve names that differ in case and separators only, or name the tool (package discovery)."},
	{ID: "name-prefix", Severity: advice, Title: "a tool's name with the server's before it leads nowhere",
		Sends: "a call of mcp__SERVER__TOOL",
		Why:   "Clients show tools under such names, and models repeat them.",
		Fix:   "Strip the prefixes that clients add, or name the tool (package discovery)."},
}

// sample returns a tool to try things on: one whose ordinary call succeeds.
func (e *exam) sample() *tool {
	tools := e.may(freely)
	for _, t := range tools {
		if t.base.ok() {
			return t
		}
	}
	if len(tools) > 0 {
		return tools[0]
	}
	return nil
}

func (e *exam) checkNames() {
	s := e.session()
	if s == nil {
		return
	}
	e.pass("unknown-tool")
	r := s.Call("tools/call", map[string]any{"name": "doctor_no_such_tool", "arguments": map[string]any{}}, e.opts.Timeout)
	e.judgeUnknown("unknown-tool", "tools/call", &r)
	if r.OK() {
		if result := parseToolResult(r.Result); !result.isError {
			e.found("unknown-tool", "tools/call", &r, "a tool that does not exist is answered with success")
		}
	}
	t := e.sample()
	if t == nil {
		return
	}
	e.pass("unknown-tool-hint", "name-case", "name-prefix")
	for _, try := range []struct{ probe, name string }{
		{"unknown-tool-hint", misspelled(t.name)},
		{"name-case", camel(t.name)},
		{"name-case", strings.ToUpper(t.name)},
		{"name-prefix", "mcp__" + orDefault(strings.ToLower(e.server.Name), "server") + "__" + t.name},
	} {
		if e.isOther(t, try.name) {
			continue
		}
		s := e.session()
		if s == nil {
			return
		}
		// What a server makes of the name is not known before, so the arguments
		// are the harmless ones of the tool that is meant.
		r := s.Call("tools/call", map[string]any{"name": try.name, "arguments": t.args}, e.opts.Timeout)
		if r.Err != nil {
			e.judgeUnknown("unknown-tool", "tools/call", &r)
			continue
		}
		if !e.leadsTo(t, &r) {
			e.found(try.probe, "", &r, "%q is refused, and %s is not named: %s", try.name, t.name, clip(answerText(&r), 100))
		}
	}
}

// isOther reports whether a name is no wrong one, but the right one of t or,
// perhaps but for its case and separators, of another tool: that may be one that
// must not be called.
func (e *exam) isOther(t *tool, name string) bool {
	return name == t.name || slices.ContainsFunc(e.tools, func(other *tool) bool {
		return other != t && fold(other.name) == fold(name)
	})
}

// leadsTo reports whether an answer is a success, or names the tool.
func (e *exam) leadsTo(t *tool, r *session.Reply) bool {
	if r.OK() && !parseToolResult(r.Result).isError {
		return true
	}
	return containsWord(answerText(r), t.name)
}

// containsWord reports whether text has name as a word of its own: it is
// also a part of the wrong name that the answer repeats.
func containsWord(text, name string) bool {
	isPart := func(r byte) bool {
		return r == '_' || r == '-' || r >= '0' && r <= '9' || unicode.IsLetter(rune(r))
	}
	for i := 0; ; {
		n := strings.Index(text[i:], name)
		if n < 0 {
			return false
		}
		i += n
		end := i + len(name)
		if (i == 0 || !isPart(text[i-1])) && (end == len(text) || !isPart(text[end])) {
			return true
		}
		i = end
	}
}

func answerText(r *session.Reply) string {
	if r.Error != nil {
		return r.Error.Message + " " + string(r.Error.Data)
	}
	if r.Err != nil {
		return r.Err.Error()
	}
	return parseToolResult(r.Result).text
}

// judgeUnknown files what is wrong with the refusal of something that does not
// exist.
func (e *exam) judgeUnknown(probe, subject string, r *session.Reply) {
	switch {
	case ended(r):
		e.died(subject+" of what does not exist", r)
	case r.Err != nil:
		e.found(probe, subject, r, "what does not exist is answered with %s", outcome(r))
		e.leaveStuck()
	case r.Error != nil && internalCode(r.Error.Code):
		e.found(probe, subject, r, "what does not exist is answered with the code %d", r.Error.Code)
	}
	if r.Error != nil {
		e.checkLeaks(subject, &verdict{reply: r, text: r.Error.Message + " " + string(r.Error.Data)})
	}
}

// misspelled returns name with the last letter changed.
func misspelled(name string) string {
	if name == "" {
		return name
	}
	last := name[len(name)-1]
	other := byte('x')
	if last == other {
		other = 'z'
	}
	return name[:len(name)-1] + string(other)
}

// camel returns a name in camel case, or with a capital if it is one word.
func camel(name string) string {
	parts := words(name)
	if len(parts) == 1 {
		return strings.ToUpper(name[:1]) + name[1:]
	}
	var b strings.Builder
	for i, w := range parts {
		if i > 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		}
		b.WriteString(w)
	}
	if b.String() == name {
		return strings.Join(parts, "_")
	}
	return b.String()
}
