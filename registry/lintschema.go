package registry

import (
	"slices"
	"strings"
)

// manyEnumValues is how many values of an enum are worth a remark whatever the
// profile says.
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
		l.checkRoot(t, s, in)
		w := schemaWalk{l: l, t: t, root: s, base: in, input: true}
		w.all()
	}
	s = t.doc.get("outputSchema")
	switch {
	case s == nil || s.isNull(): // null is no value of the member, see checkMembers
	case !s.isObject() || s.get("type").string() != "object":
		l.found("output-root-type", t, out, "the root's type is %s, not \"object\"", orMissing(s.get("type")))
		if !s.isObject() {
			return
		}
		fallthrough
	default:
		w := schemaWalk{l: l, t: t, root: s, base: out}
		w.all()
	}
}

// checkRoot looks at what only the root of an input schema may not be.
func (l *linter) checkRoot(t *lintedTool, s *document, in string) {
	if typ := s.get("type"); typ.string() != "object" {
		l.found("schema-root-type", t, in, "the root's type is %s, not \"object\"", orMissing(typ))
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		if s.has(k) {
			l.found("schema-root-combinator", t, in+"/"+k, "there is %s at the root", k)
		}
	}
	for _, k := range []string{"enum", "const", "not"} {
		if s.has(k) {
			l.found("schema-root-value", t, in+"/"+k, "there is %s at the root", k)
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
}

func orMissing(d *document) string {
	if d == nil {
		return "missing"
	}
	return string(d.bytes())
}

// A schemaWalk visits the subschemas of one schema, each once, the definitions
// after what refers to them.
type schemaWalk struct {
	l     *linter
	t     *lintedTool
	root  *document
	base  string
	input bool // an input schema: what only matters for arguments is checked
	refs  references
}

// A place is a subschema and where it stands.
type place struct {
	schema  *document
	pointer string
	keyword string    // below which it stands, "" for the root
	parent  *document // the schema around it
}

func (w *schemaWalk) all() {
	definitions := w.walk(place{schema: w.root}, nil)
	for len(definitions) > 0 {
		var inner []place
		for _, d := range definitions {
			// Their references are followed from where they are used.
			inner = append(inner, (&schemaWalk{l: w.l, t: w.t, root: w.root, base: w.base, input: w.input, refs: references{off: true}}).walk(d, nil)...)
		}
		definitions = inner
	}
}

func (w *schemaWalk) found(id, pointer, format string, args ...any) {
	w.l.found(id, w.t, w.base+pointer, format, args...)
}

// describes are keywords that say what a value is.
var describes = []string{"type", "enum", "const", "anyOf", "oneOf", "allOf", "not", "$ref", "$dynamicRef", "if", "properties", "items"}

// walk looks at a schema and what is below, and returns the definitions that it
// came by.
func (w *schemaWalk) walk(at place, above []*document) (definitions []place) {
	s, pointer := at.schema, at.pointer
	if len(above) > maxDocumentDepth {
		return nil
	}
	w.checkKeywords(s, pointer)
	w.checkRef(s, pointer, above)
	if w.input {
		w.checkType(s, pointer)
		w.checkEnum(s, pointer)
		w.checkImplicit(at)
		w.checkRequired(at)
	}
	above = append(above, s)
	children(s, func(parent *document, i int, keyword, below string) {
		m, at := parent.members[i], pointer+below
		if m.isNull() && parent != s { // keywords are reported above
			w.found("schema-null", at, "a schema is null")
		}
		described := keyword == "properties" || keyword == "items" || keyword == "prefixItems" || keyword == "patternProperties"
		switch {
		case m.isBool() && described:
			w.found("schema-boolean", at, "the schema is %s", m.scalar)
		case m.isObject() && described && w.input && !slices.ContainsFunc(describes, m.has):
			w.found("schema-untyped", at, "there is no type")
		}
		if !m.isObject() {
			return
		}
		inside := place{m, at, keyword, s}
		if keyword == "$defs" || keyword == "definitions" {
			definitions = append(definitions, inside)
		} else {
			definitions = append(definitions, w.walk(inside, above)...)
		}
	})
	return definitions
}

// typesAt returns the types that a schema names, without null, and whether null
// is one of them. An integer beside number is no type of its own.
func typesAt(s *document) (types []string, null bool) {
	typ := s.get("type")
	if name := typ.string(); name == "null" {
		return nil, true
	} else if name != "" {
		return []string{name}, false
	}
	if !typ.isArray() {
		return nil, false
	}
	for _, m := range typ.members {
		if name := m.string(); name == "null" {
			null = true
		} else if name != "" {
			types = append(types, name)
		}
	}
	return onlyNumber(types), null
}

func onlyNumber(types []string) []string {
	if !slices.Contains(types, "number") {
		return types
	}
	return slices.DeleteFunc(types, func(t string) bool { return t == "integer" })
}

func (w *schemaWalk) checkType(s *document, pointer string) {
	types, null := typesAt(s)
	if pointer != "" && s.get("type").isArray() { // the root's type is checkRoot's
		if null {
			id := "schema-nullable"
			if slices.Contains(types, "array") || slices.Contains(types, "object") {
				id = "schema-nullable-container"
			}
			w.found(id, pointer, "the type is %s", s.get("type").bytes())
		}
		if len(types) > 1 {
			w.found("schema-type-union", pointer, "the type is one of %s", strings.Join(types, ", "))
		}
	}
	if pointer != "" {
		w.checkBranches(s, pointer)
	}
	switch items := s.get("items"); {
	case s.has("prefixItems") || items.isArray():
		w.found("schema-tuple", pointer, "the items depend on their position")
	case slices.Contains(types, "array") && items == nil: // an empty one is untyped, and accepted
		w.found("schema-array-items", pointer, "the array's items are not described")
	}
	if known := w.l.profile.Formats; known != nil {
		name := ""
		if len(types) == 1 {
			name = types[0]
		}
		if format := s.get("format").string(); format != "" && !slices.Contains(known[name], format) {
			w.l.sourced(w.l.profile.FormatsSource, "schema-format", w.t, w.base+pointer+"/format", "the format %q of %s is not one of %s", format, orNone(name), orNone(strings.Join(known[name], ", ")))
		}
	}
}

// checkBranches looks at alternatives: what null is one of, and what has values
// of several types.
func (w *schemaWalk) checkBranches(s *document, pointer string) {
	for _, k := range []string{"anyOf", "oneOf"} {
		branches := s.get(k)
		if !branches.isArray() {
			continue
		}
		var types []string
		null := false
		for _, b := range branches.members {
			t, n := typesAt(w.refs.resolve(w.root, b))
			null = null || n
			for _, t := range t {
				if !slices.Contains(types, t) {
					types = append(types, t)
				}
			}
		}
		types = onlyNumber(types)
		if null && len(branches.members) > 1 {
			w.found("schema-nullable", pointer, "null is a branch of %s", k)
		}
		if len(types) > 1 {
			w.found("schema-type-union", pointer, "%s allows %s", k, strings.Join(types, ", "))
		}
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
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
	case n > manyEnumValues:
		w.found("schema-enum-size", pointer+"/enum", "there are %d values", n)
		w.l.findings[len(w.l.findings)-1].Severity = Info
	}
}

// conditions are keywords whose subschemas say something about a value that is
// described elsewhere, so that they need not say what it is.
var conditions = []string{"not", "if", "then", "else", "allOf", "dependentSchemas", "propertyNames", "contains"}

// checkImplicit finds keywords that only mean something for one type, without
// that type.
func (w *schemaWalk) checkImplicit(at place) {
	s := at.schema
	if at.pointer == "" || s.has("type") || s.has("$ref") || slices.Contains(conditions, at.keyword) {
		return
	}
	if (at.keyword == "anyOf" || at.keyword == "oneOf") && at.parent.has("type") {
		return
	}
	switch {
	case s.get("properties").isObject():
		w.found("schema-implicit-type", at.pointer, "there are properties and no type")
	case s.has("items") || s.has("prefixItems"):
		w.found("schema-implicit-type", at.pointer, "there are items and no type")
	case s.get("enum").isArray() && !s.has("anyOf") && !s.has("oneOf") && !s.has("allOf"):
		w.found("schema-implicit-type", at.pointer, "there is an enum and no type")
	}
}

// checkRequired finds properties that are required and nowhere described.
func (w *schemaWalk) checkRequired(at place) {
	s := at.schema
	if slices.Contains(conditions, at.keyword) || at.keyword == "anyOf" || at.keyword == "oneOf" ||
		slices.ContainsFunc([]string{"$ref", "anyOf", "oneOf", "allOf", "patternProperties"}, s.has) {
		return
	}
	properties, required := s.get("properties"), s.get("required")
	if !required.isArray() {
		return
	}
	declared := map[string]bool{}
	if properties.isObject() {
		for _, k := range properties.keys {
			declared[k] = true
		}
	}
	var missing []string
	for _, m := range required.members {
		if name := m.string(); name != "" && !declared[name] {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		w.found("schema-required-undeclared", at.pointer+"/required", "%s is required and not declared", shortList(missing, 8))
	}
}
