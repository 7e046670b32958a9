package doctor

import (
	"encoding/json"
	"slices"
	"strings"
)

// A schema is what the doctor reads of a JSON schema. What it does not
// understand it leaves out: arguments made from it may be refused, and then the
// tool is not judged by them.
type schema struct {
	types      []string
	properties map[string]*schema
	names      []string // of properties, sorted
	required   []string
	enum       []any
	examples   []any
	value      any // of default or const
	hasValue   bool
	min, max   *float64
	minLength  int
	maxLength  int
	minItems   int
	format     string
	text       string // title and description
	closed     bool   // no other properties
	items      *schema
	nullable   bool
	raw        map[string]json.RawMessage
}

// Bounds of what is read. References may lead back, so that a small document
// unfolds without end.
const (
	maxSchemaDepth = 16
	maxSubschemas  = 2000
)

// A schemaReader reads the schemas of one document.
type schemaReader struct {
	root map[string]json.RawMessage
	left int // how many more are read
}

func parseSchema(raw json.RawMessage) *schema {
	r := &schemaReader{left: maxSubschemas}
	_ = json.Unmarshal(raw, &r.root)
	return r.read(raw, 0)
}

func (r *schemaReader) read(raw json.RawMessage, depth int) *schema {
	s := &schema{properties: map[string]*schema{}}
	if r.left--; depth > maxSchemaDepth || r.left < 0 || json.Unmarshal(raw, &s.raw) != nil {
		return s
	}
	get := func(key string, into any) bool {
		v, ok := s.raw[key]
		return ok && json.Unmarshal(v, into) == nil
	}
	var ref string
	if get("$ref", &ref) {
		if target := resolve(ref, r.root); target != nil {
			return r.read(target, depth+1)
		}
	}
	var one string
	if get("type", &one) {
		s.types = []string{one}
	} else {
		get("type", &s.types)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		var branches []json.RawMessage
		if !get(key, &branches) {
			continue
		}
		for _, b := range branches[:min(len(branches), 8)] {
			sub := r.read(b, depth+1)
			if slices.Equal(sub.types, []string{"null"}) {
				s.nullable = true
				continue
			}
			s.merge(sub)
		}
	}
	if i := slices.Index(s.types, "null"); i >= 0 {
		s.nullable = true
		s.types = slices.Delete(slices.Clone(s.types), i, i+1)
	}
	var properties map[string]json.RawMessage
	if get("properties", &properties) && len(properties) <= 500 {
		for name, p := range properties {
			s.properties[name] = r.read(p, depth+1)
		}
	}
	for name := range s.properties {
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
	s.names = slices.Compact(s.names)
	var required []string
	get("required", &required)
	s.required = append(s.required, required...)
	var enum []any
	if get("enum", &enum) {
		s.enum = enum
	}
	get("examples", &s.examples)
	if get("default", &s.value) || get("const", &s.value) {
		s.hasValue = true
	}
	get("minimum", &s.min)
	get("maximum", &s.max)
	var bound float64
	if get("exclusiveMinimum", &bound) {
		bound++
		s.min = &bound
	}
	get("minLength", &s.minLength)
	get("maxLength", &s.maxLength)
	get("minItems", &s.minItems)
	get("format", &s.format)
	var title, description string
	get("title", &title)
	get("description", &description)
	s.text = strings.TrimSpace(s.text + " " + title + " " + description)
	var open bool
	s.closed = get("additionalProperties", &open) && !open
	if v, ok := s.raw["items"]; ok {
		s.items = r.read(v, depth+1)
	}
	return s
}

// merge takes from a branch what s does not have.
func (s *schema) merge(b *schema) {
	if len(s.types) == 0 {
		s.types = b.types
	}
	for name, p := range b.properties {
		if s.properties[name] == nil {
			s.properties[name] = p
		}
	}
	if len(s.required) == 0 {
		s.required = b.required
	}
	if s.enum == nil {
		s.enum = b.enum
	}
	if s.items == nil {
		s.items = b.items
	}
	if s.format == "" {
		s.format = b.format
	}
	if s.min == nil {
		s.min = b.min
	}
	if s.max == nil {
		s.max = b.max
	}
	s.text += " " + b.text
}

// resolve follows a reference within the document.
func resolve(ref string, root map[string]json.RawMessage) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := root
	var found json.RawMessage
	for part := range strings.SplitSeq(path, "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		found = at[part]
		if found == nil {
			return nil
		}
		at = nil
		_ = json.Unmarshal(found, &at)
	}
	return found
}

// kind returns the first type, guessed where there is none.
func (s *schema) kind() string {
	switch {
	case len(s.types) > 0:
		return s.types[0]
	case len(s.properties) > 0:
		return "object"
	case s.items != nil:
		return "array"
	}
	return "string"
}

func (s *schema) has(kind string) bool { return slices.Contains(s.types, kind) }
