package doctor

import (
	"encoding/json"
	"slices"
	"strings"
)

var argumentProbes = []Probe{
	{ID: "arg-missing", Severity: poor, Title: "a call without a required argument succeeds",
		Sends: "valid arguments without one that the schema requires",
		Why:   "The answer is to another question than the one that was asked.",
		Fix:   "Check arguments against the schema before the tool runs, or do not require it."},
	{ID: "arg-unnamed", Severity: advice, Title: "a refusal does not name the argument",
		Sends: "valid arguments without a required one",
		Why:   "A model that does not learn which argument is wrong sends the same again.",
		Fix:   "Name the argument and what it must be (package discovery)."},
	{ID: "arg-type", Severity: poor, Title: "an argument of the wrong type is taken",
		Sends: "an object where a number is wanted, a text that is no number, a list where a text is wanted",
		Why:   "The tool works on something else than was said, or fails deep inside.",
		Fix:   "Check arguments against the schema before the tool runs."},
	{ID: "enum-unchecked", Severity: poor, Title: "a value outside of the enum is taken",
		Sends: "a value that no enum has",
		Why:   "A filter that means nothing looks like one that matched nothing.",
		Fix:   "Check arguments against the schema, and name the allowed values."},
	{ID: "arg-extra", Severity: advice, Title: "an unknown argument is ignored",
		Sends: "valid arguments and one more that is not in the schema",
		Why:   "A misspelled filter is dropped without a word, and the answer is for no filter at all.",
		Fix:   "Refuse what is not in the schema, and name what was meant (package discovery)."},
	{ID: "arg-null", Severity: advice, Title: "null for an optional argument is refused",
		Sends: "valid arguments and null for one that is optional",
		Why:   "Models and typed clients send null for what they leave out.",
		Fix:   "Take null as left out (package discovery)."},
	{ID: "arg-stringified", Severity: advice, Title: "a number, a truth value or an object as text is refused",
		Sends: `valid arguments with "5" for 5, "true" for true, JSON text for an object`,
		Why:   "Models do this daily, and what is meant is certain.",
		Fix:   "Repair what the schema makes certain (package discovery)."},
	{ID: "arg-wrapped", Severity: advice, Title: "arguments inside another object are refused",
		Sends: `{"arguments": {…}} and {"input": {…}} around valid arguments`,
		Why:   "Some clients and models wrap arguments once more.",
		Fix:   "Unwrap what the schema makes certain (package discovery)."},
	{ID: "enum-case", Severity: advice, Title: "an enum's value in another case is refused without the values",
		Sends: "a value of the enum in capitals",
		Why:   "The value is certain; at least the refusal should list the allowed ones.",
		Fix:   "Match enums without regard to case, or list the values (package discovery)."},
	{ID: "arg-absent", Severity: poor, Title: "a call without arguments fails where none are required",
		Sends: "a call without the member arguments, and with null there",
		Why:   "Clients leave it out for tools that need nothing.",
		Fix:   "Take absent arguments for an empty object."},
}

func (e *exam) checkArguments() {
	for _, t := range e.may(freely) {
		e.checkRequired(t)
		if len(t.input.required) == 0 && t.base.ok() {
			e.checkAbsent(t)
		}
		e.checkTypes(t)
		if t.base.ok() {
			e.checkLenient(t)
		}
	}
}

// checkRequired leaves out what is required.
func (e *exam) checkRequired(t *tool) {
	for _, name := range t.input.required[:min(len(t.input.required), 3)] {
		if p := t.input.properties[name]; p == nil || p.hasValue {
			continue
		}
		v := e.call(t, without(t.args, name))
		if v == nil {
			continue
		}
		e.pass("arg-missing", "arg-unnamed")
		switch {
		case v.ok() && !asksForMore(v):
			e.found("arg-missing", t.name, v.reply, "answered without %q, which it requires", name)
		case v.refused() && !v.names(name):
			e.found("arg-unnamed", t.name, v.reply, "refused without naming %q: %s", name, clip(v.text, 100))
		}
	}
}

// asksForMore reports whether a result is neither a success nor a failure, as
// one that asks for input or is a task.
func asksForMore(v *verdict) bool {
	kind := resultType(v.reply.Result)
	return kind != "" && kind != "complete"
}

func (e *exam) checkAbsent(t *tool) {
	for _, null := range []bool{false, true} {
		var args any
		if null {
			args = json.RawMessage("null")
		}
		v := e.call(t, args)
		if v == nil {
			continue
		}
		e.pass("arg-absent")
		if v.refused() {
			severity, how := poor, "without arguments"
			if null { // which the specification does not have
				severity, how = advice, "with null for arguments"
			}
			e.foundAs("arg-absent", severity, t.name, v.reply, "refused %s, and none are required: %s", how, clip(v.text, 100))
		}
	}
}

// checkTypes sends what no schema allows.
func (e *exam) checkTypes(t *tool) {
	types, enums := 0, 0
	for _, name := range t.input.names {
		p := t.input.properties[name]
		if len(p.enum) > 0 {
			if enums++; enums > 3 || !p.has("string") {
				continue
			}
			v := e.call(t, with(t.args, name, "doctor_no_such_value"))
			if v == nil {
				continue
			}
			e.pass("enum-unchecked")
			if v.ok() {
				e.found("enum-unchecked", t.name, v.reply, "%q is taken for %s", "doctor_no_such_value", name)
			}
			continue
		}
		var wrong any
		switch p.kind() {
		case "integer", "number":
			wrong = "doctor-not-a-number"
		case "boolean", "object":
			wrong = []any{"doctor"}
		case "array":
			wrong = map[string]any{"doctor": 7}
		case "string":
			wrong = []any{map[string]any{"doctor": true}}
		}
		if len(p.types) != 1 || wrong == nil {
			continue
		}
		if types++; types > 4 {
			continue
		}
		v := e.call(t, with(t.args, name, wrong))
		if v == nil {
			continue
		}
		e.pass("arg-type")
		if v.ok() {
			e.found("arg-type", t.name, v.reply, "%s is taken for %s, which is of type %s", quote(wrong), name, p.kind())
		}
	}
}

// checkLenient sends what models send, and what is certain all the same.
func (e *exam) checkLenient(t *tool) {
	if v := e.call(t, with(t.args, "doctor_unknown", "x")); v != nil {
		e.pass("arg-extra")
		if v.ok() && t.input.closed {
			e.foundAs("arg-extra", poor, t.name, v.reply, "an argument that the schema forbids is taken")
		} else if v.ok() {
			e.found("arg-extra", t.name, v.reply, "an unknown argument is ignored")
		}
	}
	nulls, texts, enums := 0, 0, 0
	for _, name := range t.input.names {
		p := t.input.properties[name]
		if nulls == 0 && !p.nullable && !slices.Contains(t.input.required, name) && len(p.types) == 1 {
			nulls++
			if v := e.call(t, with(t.args, name, nil)); v != nil {
				e.pass("arg-null")
				if v.refused() {
					e.found("arg-null", t.name, v.reply, "null for %s is refused: %s", name, clip(v.text, 100))
				}
			}
		}
		if k := p.kind(); texts < 2 && len(p.types) == 1 && (k == "integer" || k == "number" || k == "boolean" || k == "array" || k == "object") {
			value := e.value(t, name, p, 0)
			// The text is judged only where the value itself is taken.
			if plain := e.call(t, with(t.args, name, value)); plain.ok() {
				texts++
				data, _ := json.Marshal(value)
				if v := e.call(t, with(t.args, name, string(data))); v != nil {
					e.pass("arg-stringified")
					if v.refused() {
						e.found("arg-stringified", t.name, v.reply, "%q for %s is refused: %s", data, name, clip(v.text, 100))
					}
				}
			}
		}
		if first, ok := firstText(p.enum); ok && enums == 0 && other(first) != first && !slices.Contains(p.enum, any(other(first))) {
			if plain := e.call(t, with(t.args, name, first)); plain.ok() {
				enums++
				if v := e.call(t, with(t.args, name, other(first))); v != nil {
					e.pass("enum-case")
					if v.refused() && !v.names(secondText(p.enum)) {
						e.found("enum-case", t.name, v.reply, "%q for %s is refused, and the values are not listed: %s", other(first), name, clip(v.text, 100))
					}
				}
			}
		}
	}
	if len(t.input.required) == 0 {
		return // an ignored wrapping could not be told from one that was undone
	}
	for _, key := range []string{"arguments", "input"} {
		if t.input.properties[key] != nil {
			continue
		}
		if v := e.call(t, map[string]any{key: t.args}); v != nil {
			e.pass("arg-wrapped")
			if v.refused() {
				e.found("arg-wrapped", t.name, v.reply, "refused inside %q: %s", key, clip(v.text, 100))
			}
		}
	}
}

func firstText(enum []any) (string, bool) {
	if len(enum) == 0 {
		return "", false
	}
	s, ok := enum[0].(string)
	return s, ok
}

// secondText returns the last value of an enum, which an answer that lists the
// values has and one that repeats what was sent has not.
func secondText(enum []any) string {
	s, _ := enum[len(enum)-1].(string)
	return s
}

// other returns s in another case.
func other(s string) string {
	if up := strings.ToUpper(s); up != s {
		return up
	}
	return strings.ToLower(s)
}
