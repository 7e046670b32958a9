package registry

import (
	"slices"
	"strings"
)

// What the value of a keyword has to be, by JSON Schema 2020-12.
var (
	isSchema     = func(d *document) bool { return d.isObject() || d.isBool() }
	isSchemaList = func(d *document) bool {
		return d.isArray() && len(d.members) > 0 && !slices.ContainsFunc(d.members, func(m *document) bool { return !isSchema(m) && !m.isNull() })
	}
	isSchemaMap = func(d *document) bool {
		return d.isObject() && !slices.ContainsFunc(d.members, func(m *document) bool { return !isSchema(m) && !m.isNull() })
	}
	isCount    = func(d *document) bool { return d.isOf("integer") && !strings.ContainsAny(d.scalar, "-") }
	isNumeric  = func(d *document) bool { return d.isOf("integer") }
	isTextList = func(d *document) bool {
		return d.isArray() && !slices.ContainsFunc(d.members, func(m *document) bool { return !m.isString() })
	}
)

// A keywordKind says what a keyword's value has to be.
type keywordKind struct {
	what string
	fits func(*document) bool
}

var keywordKinds = map[string]keywordKind{}

func init() {
	for _, k := range []struct {
		what     string
		fits     func(*document) bool
		keywords []string
	}{
		{"a schema", isSchema, []string{"additionalProperties", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedItems", "unevaluatedProperties"}},
		{"a schema", func(d *document) bool { return isSchema(d) || d.isArray() }, []string{"items"}}, // a list is schema-tuple
		{"a list of schemas, and not empty", isSchemaList, []string{"anyOf", "oneOf", "allOf", "prefixItems"}},
		{"an object of schemas", isSchemaMap, []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}},
		{"one of JSON's types, or a list of them", isType, []string{"type"}},
		{"a list", (*document).isArray, []string{"enum", "examples"}},
		{"a list of names", isTextList, []string{"required"}},
		{"a number", isNumeric, []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
		{"a number that is not negative", isCount, []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}},
		{"a text", (*document).isString, []string{"title", "description", "format", "pattern", "$ref", "$id", "$schema", "$anchor", "$comment"}},
		{"true or false", (*document).isBool, []string{"uniqueItems", "deprecated", "readOnly", "writeOnly"}},
	} {
		for _, keyword := range k.keywords {
			keywordKinds[keyword] = keywordKind{k.what, k.fits}
		}
	}
}

func isType(d *document) bool {
	if d.isString() {
		return slices.Contains(jsonTypes, d.string())
	}
	return d.isArray() && len(d.members) > 0 && !slices.ContainsFunc(d.members, func(m *document) bool { return !slices.Contains(jsonTypes, m.string()) })
}

var jsonTypes = append([]string{"integer"}, everyType...)

// checkKeywords finds keywords whose values are none: what other versions of
// JSON Schema, other languages' types, and an empty array for an object look
// like.
func (w *schemaWalk) checkKeywords(s *document, pointer string) {
	for i, k := range s.keys {
		kind, known := keywordKinds[k]
		switch m := s.members[i]; {
		case !known:
		case m.isNull():
			w.found("schema-null", pointer+"/"+escapePointer(k), "%s is null", k)
		case !kind.fits(m):
			w.found("schema-invalid", pointer+"/"+escapePointer(k), "%s is %s, not %s", k, shortValue(m), kind.what)
		}
	}
}

func shortValue(d *document) string {
	const most = 60
	s := string(d.bytes())
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// memberKinds says what the members of a tool have to be, by the specification.
var memberKinds = map[string]keywordKind{
	"name":         {"a text", (*document).isString},
	"title":        {"a text", (*document).isString},
	"description":  {"a text", (*document).isString},
	"annotations":  {"an object", (*document).isObject},
	"outputSchema": {"an object", func(d *document) bool { return !d.isNull() }}, // anything else is output-root-type
	"icons":        {"a list", (*document).isArray},
	"_meta":        {"an object", (*document).isObject},
	"execution":    {"an object", (*document).isObject},
}

var annotationKinds = map[string]keywordKind{
	"title":           {"a text", (*document).isString},
	"readOnlyHint":    {"true or false", (*document).isBool},
	"destructiveHint": {"true or false", (*document).isBool},
	"idempotentHint":  {"true or false", (*document).isBool},
	"openWorldHint":   {"true or false", (*document).isBool},
}

// checkMembers finds members of the definition that are not what the
// specification says.
func (l *linter) checkMembers(t *lintedTool) {
	check := func(of *document, pointer string, kinds map[string]keywordKind) {
		for i, k := range of.keys {
			if kind, known := kinds[k]; known && !kind.fits(of.members[i]) {
				l.found("tool-invalid", t, pointer+"/"+k, "%s is %s, not %s", k, shortValue(of.members[i]), kind.what)
			}
		}
	}
	check(t.doc, "", memberKinds)
	if a := t.doc.get("annotations"); a.isObject() {
		check(a, "/annotations", annotationKinds)
	}
}
