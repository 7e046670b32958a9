package registry

import (
	"slices"
	"strconv"
	"strings"
)

// Above this many values an enum is worth a remark whatever the profile says.
const manyEnumValues = 100

func (l *linter) checkSchemas(t *lintedTool) {
	const in, out = "/inputSchema", "/outputSchema"
	s := t.input
	switch {
	case s == nil || s.isNull():
		l.found("schema-missing", t, in, "there is no input schema")
	case !s.isObject():
		l.found("schema-root-type", t, in, "the input schema is not an object")
	default:
		if typ := s.get("type"); typ.string() != "object" {
			l.found("schema-root-type", t, in, "the root's type is %s, not \"object\"", orMissing(typ))
		}
		for _, k := range []string{"anyOf", "oneOf", "allOf"} {
			if s.has(k) {
				l.found("schema-root-combinator", t, in+"/"+k, "there is %s at the root", k)
			}
		}
		if !s.has("properties") {
			l.found("schema-no-properties", t, in, "there are no properties")
		}
		if p := l.profile.PropertyKey; p.Expr != nil {
			if props := s.get("properties"); props.isObject() {
				for _, k := range props.keys {
					if !p.Expr.MatchString(k) {
						l.sourced(p.Source, "schema-property-key", t, in+"/properties/"+escapePointer(k), "the parameter's name %q does not match %s", k, p.Expr)
					}
				}
			}
		}
		w := schemaWalk{l: l, t: t, root: s, base: in, input: true}
		w.walk(s, "", nil)
	}
	s = t.doc.get("outputSchema")
	switch {
	case s == nil || s.isNull():
	case !s.isObject() || s.get("type").string() != "object":
		l.found("output-root-type", t, out, "the root's type is %s, not \"object\"", orMissing(s.get("type")))
		if !s.isObject() {
			return
		}
		fallthrough
	default:
		w := schemaWalk{l: l, t: t, root: s, base: out}
		w.walk(s, "", nil)
	}
}

func orMissing(d *document) string {
	if d == nil {
		return "missing"
	}
	return string(d.bytes())
}

// A schemaWalk visits the subschemas of one schema.
type schemaWalk struct {
	l     *linter
	t     *lintedTool
	root  *document
	base  string
	input bool // an input schema: what only matters for arguments is checked
	refs  []string
}

func (w *schemaWalk) found(id, pointer, format string, args ...any) {
	w.l.found(id, w.t, w.base+pointer, format, args...)
}

// describes are keywords that say what a value is.
var describes = []string{"type", "enum", "const", "anyOf", "oneOf", "allOf", "not", "$ref", "$dynamicRef", "if", "properties", "items"}

func (w *schemaWalk) walk(s *document, pointer string, above []*document) {
	if len(above) > maxDocumentDepth {
		return
	}
	for i, k := range s.keys {
		if s.members[i].isNull() && k != "const" && k != "default" {
			w.found("schema-null", pointer+"/"+escapePointer(k), "%s is null", k)
		}
	}
	w.checkRef(s, pointer, above)
	if w.input {
		w.checkType(s, pointer)
		w.checkEnum(s, pointer)
	}
	above = append(above, s)
	children(s, func(parent *document, i int, keyword, below string) {
		m, at := parent.members[i], pointer+below
		if m.isNull() && parent != s { // keywords are reported above
			w.found("schema-null", at, "a schema is null")
		}
		described := keyword == "properties" || keyword == "items" || keyword == "prefixItems" || keyword == "patternProperties"
		switch {
		case m.scalar == "true" && described:
			w.found("schema-boolean", at, "the schema is true")
		case m.isObject() && described && w.input && !slices.ContainsFunc(describes, m.has):
			w.found("schema-untyped", at, "there is no type")
		}
		if m.isObject() && keyword != "$defs" && keyword != "definitions" {
			w.walk(m, at, above)
		}
	})
}

func (w *schemaWalk) checkRef(s *document, pointer string, above []*document) {
	ref := s.get("$ref").string()
	if ref == "" {
		return
	}
	if !strings.HasPrefix(ref, "#") {
		w.found("schema-ref-unresolved", pointer, "$ref %s leads out of the schema", ref)
		return
	}
	target := resolvePointer(w.root, ref)
	switch {
	case target == nil:
		w.found("schema-ref-unresolved", pointer, "$ref %s leads to nothing", ref)
	case slices.Contains(above, target) || target == s || slices.Contains(w.refs, ref):
		w.found("schema-ref-recursive", pointer, "$ref %s leads back to what contains it", ref)
	default:
		if len(w.refs) == 0 { // what is inside is reported once, where it is used first
			w.found("schema-ref", pointer, "there is a $ref, %s", ref)
		}
		if len(w.refs) < maxRefDepth && target.isObject() && target.size(maxFollowed+1) <= maxFollowed {
			inner := *w
			inner.refs = append(slices.Clone(w.refs), ref)
			inner.onlyRefs(target, pointer, append(above, s))
		}
	}
}

// maxFollowed is how many values a definition has at most that is followed.
const maxFollowed = 4096

// onlyRefs follows references without judging what else is there.
func (w *schemaWalk) onlyRefs(s *document, pointer string, above []*document) {
	if len(above) > maxDocumentDepth {
		return
	}
	w.checkRef(s, pointer, above)
	above = append(above, s)
	children(s, func(parent *document, i int, keyword, below string) {
		if m := parent.members[i]; m.isObject() && keyword != "$defs" && keyword != "definitions" {
			w.onlyRefs(m, pointer, above)
		}
	})
}

func (w *schemaWalk) checkType(s *document, pointer string) {
	typ := s.get("type")
	name := typ.string()
	if typ.isArray() {
		var rest []string
		for _, m := range typ.members {
			if m.string() != "null" {
				rest = append(rest, m.string())
			}
		}
		if len(rest) < len(typ.members) {
			w.found("schema-nullable", pointer, "the type is %s", typ.bytes())
		}
		if len(rest) > 1 {
			w.found("schema-type-union", pointer, "the type is one of %s", strings.Join(rest, ", "))
		}
		if len(rest) == 1 {
			name = rest[0]
		}
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		branches := s.get(k)
		if !branches.isArray() || pointer == "" {
			continue
		}
		var types []string
		null := false
		for _, b := range branches.members {
			switch t := b.get("type").string(); {
			case t == "null":
				null = true
			case t != "" && !slices.Contains(types, t):
				types = append(types, t)
			}
		}
		if null && len(branches.members) == 2 {
			w.found("schema-nullable", pointer, "%s has null as the other branch", k)
		}
		if len(types) > 1 {
			w.found("schema-type-union", pointer, "%s allows %s", k, strings.Join(types, ", "))
		}
	}
	switch items := s.get("items"); {
	case s.has("prefixItems") || items.isArray():
		w.found("schema-tuple", pointer, "the items depend on their position")
	case name == "array" && (items == nil || items.isObject() && len(items.keys) == 0):
		w.found("schema-array-items", pointer, "the array's items are not described")
	}
	if known := w.l.profile.Formats; known != nil {
		if format := s.get("format").string(); format != "" && !slices.Contains(known[name], format) {
			w.l.sourced(w.l.profile.FormatsSource, "schema-format", w.t, w.base+pointer+"/format", "the format %q of %s is not one of %s", format, orNone(name), strings.Join(known[name], ", "))
		}
	}
}

func orNone(s string) string {
	if s == "" {
		return "no type"
	}
	return s
}

func (w *schemaWalk) checkEnum(s *document, pointer string) {
	enum := s.get("enum")
	if !enum.isArray() {
		return
	}
	for _, v := range enum.members {
		if !v.isString() && !v.isNull() {
			w.found("schema-enum-type", pointer+"/enum", "%s is not a string", v.bytes())
			break
		}
	}
	n := len(enum.members)
	switch limit := w.l.profile.EnumValues; {
	case limit.Max > 0 && n > limit.Max:
		w.l.sourced(limit.Source, "schema-enum-size", w.t, w.base+pointer+"/enum", "there are %d values; %d are the most", n, limit.Max)
		w.l.findings[len(w.l.findings)-1].Severity = Error
	case n > manyEnumValues:
		w.found("schema-enum-size", pointer+"/enum", "there are %s values", strconv.Itoa(n))
	}
}
