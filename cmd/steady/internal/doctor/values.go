package doctor

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// validArguments returns arguments that should be taken: what is required, and
// nothing else.
func (e *exam) validArguments(t *tool) map[string]any {
	args := map[string]any{}
	for _, name := range t.input.required {
		args[name] = e.value(t, name, t.input.properties[name], 0)
	}
	return args
}

// value returns a value for a parameter: what the schema says by default,
// example or enum, what other tools have returned under the name, what the
// description shows, and at last what fits the type.
func (e *exam) value(t *tool, name string, s *schema, depth int) any {
	if s == nil {
		return "test"
	}
	if s.hasValue && s.value != nil {
		return s.value
	}
	if len(s.examples) > 0 {
		return s.examples[0]
	}
	if len(s.enum) > 0 {
		return s.enum[0]
	}
	if v, ok := t.example[name]; ok {
		return v
	}
	switch s.kind() {
	case "integer", "number":
		if found := e.harvest.numbers(name); len(found) > 0 && depth == 0 && strings.HasSuffix(fold(name), "id") {
			return found[0]
		}
		return number(s)
	case "boolean":
		return false
	case "array":
		if s.items == nil || s.minItems == 0 && depth > 0 {
			return []any{}
		}
		return []any{e.value(t, strings.TrimSuffix(name, "s"), s.items, depth+1)}
	case "object":
		out := map[string]any{}
		if depth < maxSchemaDepth {
			for _, p := range s.required {
				out[p] = e.value(t, p, s.properties[p], depth+1)
			}
		}
		return out
	case "null":
		return nil
	}
	return e.text(name, s)
}

func number(s *schema) any {
	n := 1.0
	if s.min != nil && n < *s.min {
		n = *s.min
	}
	if s.max != nil && n > *s.max {
		n = *s.max
	}
	if n == float64(int64(n)) {
		return int64(n)
	}
	return n
}

var formats = map[string]string{
	"date": "2026-01-15", "date-time": "2026-01-15T12:00:00Z", "time": "12:00:00Z", "email": "doctor@example.com",
	"uri": "https://example.com/", "url": "https://example.com/", "uuid": "123e4567-e89b-42d3-a456-426614174000",
	"hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
}

// shown finds the example in a description: "as in ORD-42", "e.g. CUS-7",
// `such as "x"`.
var shown = regexp.MustCompile("(?i)(?:as in|e\\.g\\.,?|such as|for example,?|example:|like)\\s+[\"'`]?([\\w@./:+-]+[\\w/])")

// names maps parts of parameters' names to something of the kind.
var byName = []struct{ part, value string }{
	{"url", "https://example.com/"}, {"uri", "https://example.com/"}, {"email", "doctor@example.com"},
	{"date", "2026-01-15"}, {"from", "2026-01-01"}, {"until", "2026-12-31"}, {"path", "."}, {"file", "README.md"}, {"dir", "."},
	{"timezone", "Europe/Berlin"}, {"language", "en"}, {"country", "DE"}, {"currency", "EUR"}, {"city", "Berlin"},
}

func (e *exam) text(name string, s *schema) string {
	v := "test"
	switch {
	case formats[s.format] != "":
		v = formats[s.format]
	default:
		if found := e.harvest.texts(name); len(found) > 0 {
			return found[0]
		}
		if m := shown.FindStringSubmatch(s.text); m != nil {
			v = m[1]
			break
		}
		for _, n := range byName {
			if strings.Contains(fold(name), n.part) {
				v = n.value
				break
			}
		}
	}
	for len(v) < s.minLength && len(v) < 1000 {
		v += "x"
	}
	if s.maxLength > 0 && len(v) > s.maxLength {
		v = v[:s.maxLength]
	}
	return v
}

// fold takes from a name what differs between styles.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

// with returns a copy of args with one more.
func with(args map[string]any, name string, value any) map[string]any {
	out := maps.Clone(args)
	if out == nil {
		out = map[string]any{}
	}
	out[name] = value
	return out
}

func without(args map[string]any, name string) map[string]any {
	out := maps.Clone(args)
	delete(out, name)
	return out
}

// A harvest is what tools have returned, by the names under which they did. It
// is bounded.
type harvest struct {
	text   map[string][]string
	number map[string][]any
	paths  []string
}

const (
	maxHarvested  = 60 // values under one name
	maxHarvestLen = 200
)

func newHarvest() *harvest {
	return &harvest{text: map[string][]string{}, number: map[string][]any{}}
}

func (h *harvest) texts(name string) []string {
	name = fold(name)
	if found := h.text[name]; len(found) > 0 {
		return found
	}
	if strings.Contains(name, "path") || strings.HasSuffix(name, "dir") || strings.HasSuffix(name, "directory") || strings.HasSuffix(name, "file") {
		return h.paths
	}
	return nil
}

func (h *harvest) numbers(name string) []any { return h.number[fold(name)] }

var absolutePath = regexp.MustCompile(`(?m)(?:^|[\s"'])(/[\w.-]+(?:/[\w.@-]+)+)`)

// take keeps the values of a result.
func (h *harvest) take(toolName string, result *toolResult) {
	if v := result.value(); v != nil {
		h.walk(toolName, "", v, 0)
		return
	}
	for _, m := range absolutePath.FindAllStringSubmatch(result.text, 20) {
		if len(h.paths) < maxHarvested && !slices.Contains(h.paths, m[1]) {
			h.paths = append(h.paths, m[1])
		}
	}
}

func (h *harvest) walk(toolName, name string, v any, depth int) {
	if depth > 12 || len(h.text)+len(h.number) > 2000 {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			h.walk(toolName, k, v[k], depth+1)
			if k == "id" && name != "" {
				// orders: [{id: …}] holds what others call order_id.
				h.walk(toolName, strings.TrimSuffix(name, "s")+"_id", v[k], depth+1)
			}
		}
	case []any:
		for _, item := range v[:min(len(v), maxHarvested)] {
			h.walk(toolName, name, item, depth+1)
		}
	case string:
		key := fold(name)
		if v != "" && len(v) <= maxHarvestLen && len(h.text[key]) < maxHarvested && !slices.Contains(h.text[key], v) {
			h.text[key] = append(h.text[key], v)
		}
	case json.Number:
		key := fold(name)
		if len(h.number[key]) < maxHarvested {
			h.number[key] = append(h.number[key], v)
		}
	}
}

// quote returns v as JSON, cut.
func quote(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clip(string(data), 60)
}

func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
