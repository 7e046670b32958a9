package registry

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Bounds on inlining. Either all local references of a schema are inlined, or
// all are kept with the definitions that they need: a mixture would be paid for
// twice and be loaded by none of the clients that resolve no references.
const (
	// maxCopies is how many bytes the copies may have together, or as many as
	// the schema itself, if that is more. So a schema grows to twice its size
	// at most, or, where that is small beside what a tool may cost (8 kB, see
	// profiles.go), by half of the latter.
	maxCopies   = 4096
	maxRefDepth = 16 // references inside references
)

// inline returns a copy of schema without local references. If that is not
// possible, it says why in changes, and ok is false.
func inline(schema *document) (inlined *document, changes []change, ok bool) {
	return inlineWithin(schema, max(len(schema.bytes()), maxCopies))
}

// inlineWithin is inline with another bound on the bytes that are copied.
func inlineWithin(schema *document, budget int) (inlined *document, changes []change, ok bool) {
	in := &inliner{root: schema, budget: budget}
	inlined = schema.clone()
	in.inline(inlined, "", nil)
	if in.kept != nil {
		return nil, []change{*in.kept}, false
	}
	return inlined, in.changes, true
}

type inliner struct {
	root    *document // which $refs point into
	budget  int       // bytes that may still be copied
	changes []change
	kept    *change // why references are kept, if they are
}

func (in *inliner) keep(pointer, why string, args ...any) {
	in.kept = &change{pointer, "kept every $ref: " + fmt.Sprintf(why, args...), true}
}

// inline replaces local references below s, in place.
func (in *inliner) inline(s *document, pointer string, open []string) {
	if !s.isObject() || in.kept != nil {
		return
	}
	if s.has("$dynamicRef") || s.has("$recursiveRef") {
		in.keep(pointer, "a dynamic one needs the definitions")
		return
	}
	if ref, ok := localRef(s); ok {
		in.replace(s, ref, pointer, open)
		return
	}
	children(s, func(parent *document, i int, keyword, below string) {
		if keyword == "$defs" || keyword == "definitions" {
			return // unused once everything is inlined
		}
		in.inline(parent.members[i], pointer+below, open)
	})
}

// localRef returns the $ref of s, if it points into the same document.
func localRef(s *document) (string, bool) {
	ref := s.get("$ref").string()
	return ref, strings.HasPrefix(ref, "#")
}

// refer adds the pointers that local references below s point at, and those of
// what contains that.
func refer(s *document, targets map[string]bool) {
	if ref, ok := localRef(s); ok {
		target := unescapeFragment(ref[1:])
		targets[target] = true
		for i, depth := 0, 0; i < len(target) && depth < 2*maxDocumentDepth; i++ { // nothing is deeper
			if target[i] == '/' {
				targets[target[:i]] = true
				depth++
			}
		}
	}
	if s.has("$dynamicRef") || s.has("$recursiveRef") {
		targets["#"] = true // which is no pointer, but counts
	}
	children(s, func(parent *document, i int, _, _ string) { refer(parent.members[i], targets) })
}

func (in *inliner) replace(s *document, ref, pointer string, open []string) {
	target := resolvePointer(in.root, ref)
	switch {
	case target == nil:
		in.keep(pointer, "one points at nothing")
		return
	case ref == "#" || slices.Contains(open, ref) || strings.HasPrefix(pointer+"/", strings.TrimPrefix(ref, "#")+"/"):
		// The generic form: what it is, not what it holds.
		s.remove("$ref")
		for _, k := range []string{"type", "title", "description"} {
			if v := target.get(k); v != nil && !s.has(k) {
				s.set(k, v.clone())
			}
		}
		in.changes = append(in.changes, change{pointer, "cut the recursion of a $ref", true})
		return
	case target.isBool():
		s.remove("$ref")
		if target.scalar == "false" {
			s.set("not", object())
		}
		return
	case !target.isObject():
		in.keep(pointer, "one points at what is no schema")
		return
	case target.has("$id"):
		in.keep(pointer, "one points at a schema with an $id of its own")
		return
	case len(open) >= maxRefDepth:
		in.keep(pointer, "they lead %d levels deep", maxRefDepth)
		return
	}
	n := len(target.bytes())
	if n > in.budget {
		in.keep(pointer, "inlined, the schema would grow to more than twice its size")
		return
	}
	in.budget -= n
	copied := target.clone()
	in.inline(copied, strings.TrimPrefix(ref, "#"), append(slices.Clone(open), ref))
	s.remove("$ref")
	merge(s, copied)
}

// Keywords that mean something else beside each other than apart.
var entangled = [][]string{
	{"if", "then", "else"},
	{"contains", "minContains", "maxContains"},
	{"items", "prefixItems", "additionalItems", "unevaluatedItems"},
	{"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"},
}

// Keywords that describe and do not constrain.
var describing = []string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$defs", "definitions", "$anchor"}

// merge adds what from says to s. What describes is taken from s where both
// have it; where both constrain, both hold.
func merge(s, from *document) {
	if conflict(s, from) {
		all := s.get("allOf")
		if !all.isArray() {
			all = &document{kind: '['}
			s.set("allOf", all)
		}
		all.members = append(all.members, from)
		return
	}
	for i, k := range from.keys {
		if !s.has(k) && k != "$defs" && k != "definitions" && k != "$anchor" {
			s.set(k, from.members[i])
		}
	}
}

func conflict(s, from *document) bool {
	for i, k := range from.keys {
		if have := s.get(k); have != nil && !slices.Contains(describing, k) && string(have.bytes()) != string(from.members[i].bytes()) {
			return true
		}
	}
	return slices.ContainsFunc(entangled, func(group []string) bool {
		return slices.ContainsFunc(group, s.has) && slices.ContainsFunc(group, from.has)
	})
}

// dropDefinitions removes the definitions below s, which nothing refers to any
// more, unless by a name of their own, which may be known elsewhere.
func dropDefinitions(s *document) {
	for _, k := range []string{"$defs", "definitions"} {
		if !hasName(s.get(k)) {
			s.remove(k)
		}
	}
	children(s, func(parent *document, i int, _, _ string) { dropDefinitions(parent.members[i]) })
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
	return pointerUnescaper.Replace(unescapeFragment(s))
}

func unescapeFragment(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}
