package registry

import (
	"slices"
	"strconv"
)

// A change is one thing that hygiene did to a schema, or could not do.
type change struct {
	pointer string // JSON pointer into the schema as it was written
	what    string
	warn    bool // what a client sees says less than what the author wrote
}

// clean changes a schema in place so that common clients load it, and says
// what it did. It never touches what a call may send: everything that the
// schema refused before and accepts now is refused by the server as before,
// and nothing that was accepted is refused.
//
// input says that the schema describes arguments. In an output schema null
// stays, because a client validates results against it. inferred says that
// the schema was derived from a Go type, where null is how a nil slice is
// written and not something that the author decided.
func clean(schema *document, input, inferred bool) []change {
	c := &cleaner{input: input, inferred: inferred, targets: map[string]bool{}}
	refer(schema, c.targets)
	c.walk(schema, "", false)
	if len(c.targets) == 0 {
		dropDefinitions(schema)
		c.addProperties(schema)
		return c.changes
	}
	inlined, changes, ok := inline(schema)
	c.changes = append(c.changes, changes...)
	if !ok {
		if !schema.has("$ref") { // else they may be behind it
			c.addProperties(schema)
		}
		return c.changes
	}
	// What is nullable and optional shows only now, where a reference was both.
	c.targets = nil
	c.walk(inlined, "", false)
	dropDefinitions(inlined)
	c.addProperties(inlined)
	*schema = *inlined
	return c.changes
}

type cleaner struct {
	input    bool
	inferred bool
	targets  map[string]bool // pointers of what local $refs point at, and of what contains it
	changes  []change
}

func (c *cleaner) note(pointer, what string, warn bool) {
	c.changes = append(c.changes, change{pointer, what, warn})
}

func (c *cleaner) addProperties(s *document) {
	if c.input && s.isObject() && s.get("type").string() == "object" && !s.get("properties").isObject() {
		s.set("properties", object())
		c.note("", "added the properties that clients expect", false)
	}
}

// Keywords whose value is a schema, a list of schemas, or schemas by name.
// What is below any other keyword (enum, const, default, examples) is data,
// in which "$ref" or "type" mean nothing.
var (
	schemaKeywords = []string{"items", "additionalProperties", "additionalItems", "contains", "not", "if", "then", "else",
		"propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
	listKeywords  = []string{"anyOf", "oneOf", "allOf", "prefixItems", "items"}
	namedKeywords = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)

// children calls f for every subschema of s with its place.
func children(s *document, f func(parent *document, i int, keyword, pointer string)) {
	if !s.isObject() {
		return
	}
	for i, k := range s.keys {
		m := s.members[i]
		switch {
		case m.isArray() && slices.Contains(listKeywords, k):
			for j := range m.members {
				f(m, j, k, "/"+k+"/"+strconv.Itoa(j))
			}
		case m.isObject() && slices.Contains(namedKeywords, k):
			for j, name := range m.keys {
				f(m, j, k, "/"+k+"/"+escapePointer(name))
			}
		case slices.Contains(schemaKeywords, k):
			f(s, i, k, "/"+k)
		}
	}
}

// walk drops the nulls and boolean schemas that clients refuse, below s.
// optional says that whoever sends a value for s may leave it out instead.
func (c *cleaner) walk(s *document, pointer string, optional bool) {
	if !s.isObject() {
		return
	}
	c.dropNulls(s, pointer)
	if c.input && !c.isTarget(s, pointer) {
		c.dropNullType(s, pointer, optional)
	}
	required := names(s.get("required"))
	children(s, func(parent *document, i int, keyword, below string) {
		m := parent.members[i]
		if m.scalar == "true" && (keyword == "properties" || keyword == "items" || keyword == "patternProperties" || keyword == "prefixItems") {
			parent.members[i] = object()
			c.note(pointer+below, "wrote the schema true as {}", false)
			return
		}
		left := false
		switch keyword {
		case "properties":
			left = !required[parent.keys[i]]
		case "items", "prefixItems", "additionalProperties", "patternProperties":
			left = c.inferred
		}
		c.walk(m, pointer+below, left)
	})
}

// dropNulls removes keywords whose value is null where JSON Schema wants an
// object or a list: they mean nothing, and clients that expect an object fail.
func (c *cleaner) dropNulls(s *document, pointer string) {
	for _, keywords := range [][]string{schemaKeywords, listKeywords, namedKeywords, {"required", "type", "enum", "description", "title", "format", "pattern"}} {
		for _, k := range keywords {
			if s.get(k).isNull() {
				s.remove(k)
				c.note(pointer+"/"+k, "dropped null", false)
			}
		}
	}
	for _, k := range namedKeywords {
		if m := s.get(k); m.isObject() {
			for i := range m.members {
				if m.members[i].isNull() {
					m.members[i] = object()
					c.note(pointer+"/"+k+"/"+escapePointer(m.keys[i]), "wrote null as {}", false)
				}
			}
		}
	}
}

// isTarget reports whether a reference points at s or below. Null stays there:
// it may matter where the reference is.
func (c *cleaner) isTarget(s *document, pointer string) bool {
	if s.has("$anchor") || s.has("$dynamicAnchor") {
		return true
	}
	return c.targets[pointer]
}

// dropNullType advertises ["null", T] as T where leaving the value out says
// what null says.
func (c *cleaner) dropNullType(s *document, pointer string, optional bool) {
	rest, nilable := withoutNull(s.get("type"))
	switch {
	case rest != nil && (optional || c.inferred && nilable) && allowsOtherThanNull(s, rest):
		if len(rest) == 1 {
			s.set("type", rest[0])
		} else {
			s.set("type", &document{kind: '[', members: rest})
		}
	case rest == nil && optional && dropNullBranch(s):
	default:
		return
	}
	if e := s.get("enum"); e.isArray() {
		e.members = slices.DeleteFunc(e.members, (*document).isNull)
	}
	if s.get("default").isNull() {
		s.remove("default")
	}
	c.note(pointer, "dropped null from the types of an optional value", false)
}

// withoutNull returns the types but null, or nil if null is not one of several.
// nilable says that the others have an empty value of their own.
func withoutNull(types *document) (rest []*document, nilable bool) {
	if !types.isArray() {
		return nil, false
	}
	nilable = true
	for _, t := range types.members {
		if t.string() != "null" {
			rest = append(rest, t)
			nilable = nilable && (t.string() == "array" || t.string() == "object")
		}
	}
	if len(rest) == len(types.members) {
		return nil, false
	}
	return rest, nilable
}

// allowsOtherThanNull reports whether enum and const leave a value of one of
// the types, of any type if there are none. Where they do not, null is all that
// may be sent, and a schema without it would accept nothing.
func allowsOtherThanNull(s *document, types []*document) bool {
	fits := func(v *document) bool {
		return !v.isNull() && (len(types) == 0 || slices.ContainsFunc(types, func(t *document) bool { return v.isOf(t.string()) }))
	}
	if v := s.get("const"); v != nil && !fits(v) {
		return false
	}
	if e := s.get("enum"); e.isArray() && !slices.ContainsFunc(e.members, fits) {
		return false
	}
	return true
}

// isOf reports whether d may be a value of a JSON Schema type.
func (d *document) isOf(kind string) bool {
	switch kind {
	case "null":
		return d.isNull()
	case "boolean":
		return d.isBool()
	case "string":
		return d.isString()
	case "array":
		return d.isArray()
	case "object":
		return d.isObject()
	default: // 1.0 is an integer, too
		return d.kind == 0 && !d.isNull() && !d.isBool() && !d.isString()
	}
}

// dropNullBranch turns {"anyOf": [T, {"type": "null"}]} into T.
func dropNullBranch(s *document) bool {
	for _, k := range []string{"anyOf", "oneOf"} {
		branches := s.get(k)
		if !branches.isArray() || len(branches.members) != 2 {
			continue
		}
		null := slices.IndexFunc(branches.members, func(b *document) bool {
			return b.get("type").string() == "null"
		})
		if null < 0 || !branches.members[1-null].isObject() {
			continue
		}
		other := branches.members[1-null]
		var types []*document
		if t := other.get("type"); t.isArray() {
			types = t.members
		} else if t.isString() {
			types = []*document{t}
		}
		if !allowsOtherThanNull(s, types) || !allowsOtherThanNull(other, types) {
			continue
		}
		s.remove(k)
		merge(s, other)
		return true
	}
	return false
}

// names returns the strings of a list as a set.
func names(list *document) map[string]bool {
	set := map[string]bool{}
	if list.isArray() {
		for _, m := range list.members {
			set[m.string()] = true
		}
	}
	return set
}
