package doctor

import (
	"encoding/json"
	"regexp"
	"strings"
)

var hostileProbes = []Probe{
	{ID: "hostile-arguments", Severity: bad, Title: "hostile arguments are not survived",
		Sends: "very long and odd texts, the largest and the smallest numbers, deep nesting, a list for the arguments",
		Why:   "What a model can be talked into sending, somebody will have it send.",
		Fix:   "Bound arguments in the schema and before they are used (packages discovery and limits)."},
	{ID: "path-escape", Severity: bad, Title: "a path leads out of the server's folder",
		Sends: "../../../../../../etc/passwd for each text",
		Why:   "Whoever can make the model call the tool reads any file.",
		Fix:   "Resolve paths under a root (os.Root in Go), and refuse what leaves it."},
	{ID: "injection", Severity: bad, Title: "a text is run as a command, a query or a template",
		Sends: "texts with $(id), a quote and {{7*191}}",
		Why:   "Whoever can make the model call the tool runs what he likes.",
		Fix:   "Pass arguments as arguments, never as part of a command line, a query or a template."},
}

const (
	maxHostileParameters = 4 // of one tool
	longText             = 256 << 10
	deepNesting          = 900 // the SDK's limit is 1000
)

var (
	passwdText = regexp.MustCompile(`root:[x*]?:0:0`)
	ranText    = regexp.MustCompile(`uid=\d+\(|\b1337\b`)
)

func (e *exam) checkHostile() {
	for _, t := range e.may(freely) {
		for _, args := range []json.RawMessage{
			json.RawMessage(`[]`), json.RawMessage(`"doctor"`), json.RawMessage(`{"":""}`),
			json.RawMessage(`{"doctor":` + strings.Repeat(`{"a":`, deepNesting) + `1` + strings.Repeat(`}`, deepNesting) + `}`),
		} {
			e.hostile(t, "arguments", args)
		}
		for i, name := range t.input.names {
			if i == maxHostileParameters {
				break
			}
			p := t.input.properties[name]
			for _, value := range hostileValues(p) {
				v := e.hostile(t, name, with(t.args, name, value))
				if text, ok := value.(string); ok && v != nil {
					e.checkObeyed(t, name, text, v)
				}
			}
		}
	}
}

// hostile makes a call of which only the common judgement counts, and a crash.
func (e *exam) hostile(t *tool, what string, args any) *verdict {
	crashes := t.crashes
	v := e.call(t, args)
	if v != nil || t.crashes > crashes {
		e.pass("hostile-arguments")
	}
	if t.crashes > crashes {
		e.found("hostile-arguments", t.name, nil, "a hostile value of %s ends the server: %s", what, quote(args))
	}
	return v
}

func hostileValues(p *schema) []any {
	switch p.kind() {
	case "string":
		return []any{
			"", strings.Repeat("A", longText), "../../../../../../etc/passwd", "'\"; SELECT 1; -- $(id) `id` {{7*191}} ${7*191}",
			"\u0000\u202e\ufeff\U0001F4A3%s%n",
		}
	case "integer", "number":
		return []any{json.RawMessage("-9223372036854775808"), json.RawMessage("9223372036854775807"), json.RawMessage("1e308"), json.RawMessage("-0.5")}
	case "array":
		many := make([]any, 5000)
		for i := range many {
			many[i] = "x"
		}
		return []any{[]any{}, many, []any{nil}}
	case "object":
		return []any{map[string]any{}, map[string]any{"__proto__": map[string]any{"doctor": true}, "constructor": nil}}
	}
	return []any{nil}
}

// checkObeyed looks for signs that a text was more than text.
func (e *exam) checkObeyed(t *tool, name, text string, v *verdict) {
	answer := v.text
	if v.result != nil {
		answer += string(v.result.structured)
	}
	if strings.Contains(text, "passwd") {
		e.pass("path-escape")
		if passwdText.MatchString(answer) {
			e.found("path-escape", t.name, v.reply, "%s of %s reads /etc/passwd", name, quote(text))
		}
	}
	if strings.Contains(text, "$(id)") {
		e.pass("injection")
		if ran := ranText.FindString(answer); ran != "" {
			e.found("injection", t.name, v.reply, "%s is run: the answer has %q", name, ran)
		}
	}
}
