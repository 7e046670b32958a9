package registry

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Bounds on inlining: a schema that would grow beyond them keeps its $refs.
const (
	maxInlined  = 4096 // values that all inlined copies of one schema may add
	maxRefDepth = 16   // references inside references
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
	c := &cleaner{root: schema.clone(), input: input, inferred: inferred, budget: maxInlined}
	c.inline(schema, "", nil)
	c.walk(schema, "", false)
	if input && schema.isObject() && schema.get("type").string() == "object" && !schema.get("properties").isObject() {
		schema.set("properties", object())
		c.note("", "added the properties that clients expect", false)
	}
	return c.changes
}

type cleaner struct {
	root     *document // as written, which $refs point into
	input    bool
	inferred bool
	budget   int
	kept     bool // a local $ref stays, so definitions stay
	changes  []change
}

func (c *cleaner) note(pointer, what string, warn bool) {
	c.changes = append(c.changes, change{pointer, what, warn})
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

// inline replaces local references below s, in place.
func (c *cleaner) inline(s *document, pointer string, open []string) {
	if !s.isObject() {
		return
	}
	if ref := s.get("$ref"); ref.isString() && strings.HasPrefix(ref.string(), "#") {
		c.replaceRef(s, ref.string(), pointer, open)
		return
	}
	if s.has("$dynamicRef") || s.has("$recursiveRef") {
		c.kept = true
	}
	children(s, func(parent *document, i int, keyword, below string) {
		if keyword == "$defs" || keyword == "definitions" {
			return // unused once everything is inlined
		}
		c.inline(parent.members[i], pointer+below, open)
	})
}

func (c *cleaner) replaceRef(s *document, ref, pointer string, open []string) {
	target := resolvePointer(c.root, ref)
	switch {
	case target == nil:
		c.kept = true
		c.note(pointer, "kept $ref "+ref+", which points at nothing", true)
		return
	case ref == "#" || slices.Contains(open, ref) || strings.HasPrefix(pointer+"/", strings.TrimPrefix(ref, "#")+"/"):
		// The generic form: what it is, not what it holds.
		s.remove("$ref")
		for _, k := range []string{"type", "title", "description"} {
			if v := target.get(k); v != nil && !s.has(k) {
				s.set(k, v.clone())
			}
		}
		c.note(pointer, "cut the recursion of $ref "+ref, true)
		return
	case target.isBool():
		s.remove("$ref")
		if target.scalar == "false" {
			s.set("not", object())
		}
		return
	}
	n := target.size(maxInlined + 1)
	if n > c.budget || len(open) >= maxRefDepth || target.has("$id") {
		c.kept = true
		c.note(pointer, "kept $ref "+ref+", which is too large to inline", true)
		return
	}
	c.budget -= n
	copied := target.clone()
	if !copied.isObject() {
		c.kept = true
		c.note(pointer, "kept $ref "+ref+", which is not a schema", true)
		return
	}
	open = append(slices.Clone(open), ref)
	c.inline(copied, strings.TrimPrefix(ref, "#"), open)
	s.remove("$ref")
	c.merge(s, copied)
}

// merge adds what from says to s. What describes (title, description, default,
// and so on) is taken from s where both have it; where both constrain, both hold.
func (c *cleaner) merge(s, from *document) {
	describing := []string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$defs", "definitions", "$anchor"}
	for i, k := range from.keys {
		have := s.get(k)
		if have != nil && !slices.Contains(describing, k) && string(have.bytes()) != string(from.members[i].bytes()) {
			all := s.get("allOf")
			if !all.isArray() {
				all = &document{kind: '['}
				s.set("allOf", all)
			}
			all.members = append(all.members, from)
			return
		}
	}
	for i, k := range from.keys {
		if !s.has(k) && k != "$defs" && k != "definitions" && k != "$anchor" {
			s.set(k, from.members[i])
		}
	}
}

// hasName reports whether one of the definitions can be referred to by a name
// that it gives itself.
func hasName(definitions *document) bool {
	if !definitions.isObject() {
		return false
	}
	for _, d := range definitions.members {
		if d.isObject() && (d.has("$anchor") || d.has("$dynamicAnchor") || d.has("$id")) {
			return true
		}
	}
	return false
}

// walk drops the nulls and boolean schemas that clients refuse, below s.
// optional says that whoever sends a value for s may leave it out instead.
func (c *cleaner) walk(s *document, pointer string, optional bool) {
	if !s.isObject() {
		return
	}
	for _, k := range []string{"$defs", "definitions"} {
		// Nothing refers to them any more, unless by a name of their own, which
		// may be known elsewhere.
		if !c.kept && !hasName(s.get(k)) {
			s.remove(k)
		}
	}
	c.dropNulls(s, pointer)
	if c.input {
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

// dropNullType advertises ["null", T] as T where leaving the value out says
// what null says.
func (c *cleaner) dropNullType(s *document, pointer string, optional bool) {
	types := s.get("type")
	if types.isArray() {
		var rest []*document
		nilable := true // every other type has an empty value of its own
		for _, t := range types.members {
			if t.string() != "null" {
				rest = append(rest, t)
				nilable = nilable && (t.string() == "array" || t.string() == "object")
			}
		}
		if len(rest) == 0 || len(rest) == len(types.members) || !optional && !(c.inferred && nilable) {
			return
		}
		if len(rest) == 1 {
			s.set("type", rest[0])
		} else {
			s.set("type", &document{kind: '[', members: rest})
		}
	} else if !optional || !c.dropNullBranch(s) {
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

// dropNullBranch turns {"anyOf": [T, {"type": "null"}]} into T.
func (c *cleaner) dropNullBranch(s *document) bool {
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
		s.remove(k)
		c.merge(s, branches.members[1-null])
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

// resolvePointer returns what a local reference points at, or nil: "#",
// "#/a/b" or "#anchor".
func resolvePointer(root *document, ref string) *document {
	path := strings.TrimPrefix(ref, "#")
	if path == "" {
		return root
	}
	if !strings.HasPrefix(path, "/") {
		return findAnchor(root, path)
	}
	at := root
	for part := range strings.SplitSeq(path[1:], "/") {
		part = unescapePointer(part)
		switch {
		case at.isObject():
			at = at.get(part)
		case at.isArray():
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(at.members) {
				return nil
			}
			at = at.members[i]
		default:
			return nil
		}
	}
	return at
}

func findAnchor(s *document, name string) (found *document) {
	if s.get("$anchor").string() == name {
		return s
	}
	children(s, func(parent *document, i int, _, _ string) {
		if found == nil {
			found = findAnchor(parent.members[i], name)
		}
	})
	return found
}

var (
	pointerEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

func escapePointer(s string) string { return pointerEscaper.Replace(s) }

// unescapePointer also undoes percent-encoding, which a pointer in a URI
// fragment has (RFC 6901, section 6).
func unescapePointer(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		s = u
	}
	return pointerUnescaper.Replace(s)
}
