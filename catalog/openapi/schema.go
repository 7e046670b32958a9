package openapi

import (
	"regexp"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

const (
	maxDepth   = 8   // deeper, anything is accepted: the API checks it
	maxSchemas = 400 // of one operation
)

// convert writes a schema as JSON Schema 2020-12 without references: one that
// refers to itself is open where it does, and so is what lies too deep.
func convert(ref *openapi3.SchemaRef) map[string]any {
	return (&converter{}).schema(ref)
}

type converter struct {
	stack []*openapi3.Schema
	count int
}

func (c *converter) schema(ref *openapi3.SchemaRef) map[string]any {
	out := map[string]any{}
	if ref == nil || ref.Value == nil {
		return out
	}
	s := ref.Value
	c.count++
	if len(c.stack) >= maxDepth || c.count > maxSchemas || slices.Contains(c.stack, s) {
		return out
	}
	c.stack = append(c.stack, s)
	defer func() { c.stack = c.stack[:len(c.stack)-1] }()

	if s.Always != nil {
		if !*s.Always {
			out["not"] = map[string]any{}
		}
		return out
	}
	c.kind(out, s)
	c.texts(out, s)
	c.bounds(out, s)
	c.object(out, s)
	if s.Items != nil {
		out["items"] = c.schema(s.Items)
	}
	for keyword, list := range map[string]openapi3.SchemaRefs{"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf, "prefixItems": s.PrefixItems} {
		if len(list) == 0 {
			continue
		}
		schemas := make([]map[string]any, len(list))
		for i, r := range list {
			schemas[i] = c.schema(r)
		}
		if keyword == "oneOf" && c.open() {
			keyword = "anyOf" // with parts left open, more than one may fit
		}
		out[keyword] = schemas
	}
	return out
}

// open reports whether something was left open for being too much.
func (c *converter) open() bool { return c.count > maxSchemas || len(c.stack) >= maxDepth-1 }

// kind writes the type. "null" is allowed by nullable in 3.0 and by a type in
// 3.1.
func (c *converter) kind(out map[string]any, s *openapi3.Schema) {
	types := s.Type.Slice()
	if s.Nullable && len(types) > 0 && !slices.Contains(types, "null") {
		types = append(slices.Clone(types), "null")
	}
	switch len(types) {
	case 0:
		if len(s.Properties) > 0 {
			out["type"] = "object"
		}
	case 1:
		out["type"] = types[0]
	default:
		out["type"] = types
	}
	if len(s.Enum) > 0 {
		out["enum"] = s.Enum
		if s.Nullable && !slices.Contains(s.Enum, any(nil)) {
			out["enum"] = append(slices.Clone(s.Enum), nil)
		}
	}
	if s.Const != nil {
		out["const"] = s.Const
	}
}

func (c *converter) texts(out map[string]any, s *openapi3.Schema) {
	for keyword, text := range map[string]string{"title": s.Title, "description": s.Description, "format": s.Format} {
		if text != "" {
			out[keyword] = text
		}
	}
	if s.Default != nil {
		out["default"] = s.Default
	}
	switch {
	case len(s.Examples) > 0:
		out["examples"] = s.Examples
	case s.Example != nil:
		out["examples"] = []any{s.Example}
	}
}

func (c *converter) bounds(out map[string]any, s *openapi3.Schema) {
	set := func(keyword string, v *float64) {
		if v != nil {
			out[keyword] = *v
		}
	}
	low, high := "minimum", "maximum"
	// In 3.0 a bound is exclusive by a flag beside it.
	if b := s.ExclusiveMin.Bool; b != nil && *b {
		low = "exclusiveMinimum"
	}
	if b := s.ExclusiveMax.Bool; b != nil && *b {
		high = "exclusiveMaximum"
	}
	set(low, s.Min)
	set(high, s.Max)
	set("exclusiveMinimum", s.ExclusiveMin.Value)
	set("exclusiveMaximum", s.ExclusiveMax.Value)
	set("multipleOf", s.MultipleOf)
	for keyword, n := range map[string]uint64{"minLength": s.MinLength, "minItems": s.MinItems, "minProperties": s.MinProps} {
		if n > 0 {
			out[keyword] = n
		}
	}
	for keyword, n := range map[string]*uint64{"maxLength": s.MaxLength, "maxItems": s.MaxItems, "maxProperties": s.MaxProps} {
		if n != nil {
			out[keyword] = *n
		}
	}
	if s.UniqueItems {
		out["uniqueItems"] = true
	}
	if s.Pattern != "" {
		// The pattern is of ECMAScript; what Go cannot read is left to the API.
		if _, err := regexp.Compile(s.Pattern); err == nil {
			out["pattern"] = s.Pattern
		}
	}
}

// object writes properties. Those that only an answer has are left out.
func (c *converter) object(out map[string]any, s *openapi3.Schema) {
	hidden := map[string]bool{}
	if len(s.Properties) > 0 {
		properties := map[string]any{}
		for _, name := range sortedKeys(s.Properties) {
			p := s.Properties[name]
			if p != nil && p.Value != nil && p.Value.ReadOnly {
				hidden[name] = true
				continue
			}
			properties[name] = c.schema(p)
		}
		out["properties"] = properties
	}
	required := slices.DeleteFunc(slices.Clone(s.Required), func(name string) bool { return hidden[name] })
	if len(required) > 0 {
		out["required"] = required
	}
	switch a := s.AdditionalProperties; {
	case a.Schema != nil:
		out["additionalProperties"] = c.schema(a.Schema)
	case a.Has != nil:
		out["additionalProperties"] = *a.Has
	}
}
