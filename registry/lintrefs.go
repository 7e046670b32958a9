package registry

import (
	"slices"
	"strings"
)

// Bounds on what is followed in one schema, which may be anybody's.
const (
	maxRefs     = 2000   // different references
	maxFollowed = 50_000 // values behind them
)

// references are what the $refs of one schema lead to.
type references struct {
	off      bool // they are not reported
	targets  map[string]*document
	done     map[string]bool // followed to the end
	followed int
}

// target returns what a local reference leads to, or nil. ok is false when there
// were too many to tell.
func (r *references) target(root *document, ref string) (target *document, ok bool) {
	target, ok = r.targets[ref]
	if !ok && len(r.targets) < maxRefs {
		if r.targets == nil {
			r.targets, r.done = map[string]*document{}, map[string]bool{}
		}
		target, ok = resolvePointer(root, ref), true
		r.targets[ref] = target
	}
	return target, ok
}

// resolve returns what a schema refers to, through several references, or the
// schema itself.
func (r *references) resolve(root, s *document) *document {
	for range 8 {
		ref, ok := localRef(s)
		if !ok {
			break
		}
		target, _ := r.target(root, ref)
		if target == nil {
			break
		}
		s = target
	}
	return s
}

// checkRef looks at a reference and follows it, so that what leads back or to
// nothing is found where it is used first. What else is in a definition is
// judged there.
func (w *schemaWalk) checkRef(s *document, pointer string, above []*document) {
	if !w.refs.off {
		w.follow(s, pointer, above, nil)
	}
}

// follow is checkRef below the references in open.
func (w *schemaWalk) follow(s *document, pointer string, above []*document, open []string) {
	for _, k := range []string{"$dynamicRef", "$recursiveRef"} {
		if s.get(k).isString() && open == nil {
			w.found("schema-ref", pointer, "there is a %s, %s", k, s.get(k).string())
		}
	}
	ref := s.get("$ref").string()
	if ref == "" {
		return
	}
	if !strings.HasPrefix(ref, "#") {
		w.found("schema-ref-unresolved", pointer, "$ref %s leads out of the schema", ref)
		return
	}
	target, known := w.refs.target(w.root, ref)
	switch {
	case !known:
	case target == nil:
		w.found("schema-ref-unresolved", pointer, "$ref %s leads to nothing", ref)
	case slices.Contains(above, target) || target == s || slices.Contains(open, ref):
		w.found("schema-ref-recursive", pointer, "$ref %s leads back to what contains it", ref)
	default:
		if open == nil { // what is inside comes with this one
			w.found("schema-ref", pointer, "there is a $ref, %s", ref)
		}
		if !w.refs.done[ref] && len(open) < maxRefDepth && w.refs.followed < maxFollowed {
			w.inside(target, pointer, append(above, s), append(slices.Clone(open), ref))
			w.refs.done[ref] = true
		}
	}
}

// inside follows the references in what a reference leads to.
func (w *schemaWalk) inside(s *document, pointer string, above []*document, open []string) {
	w.refs.followed++
	if !s.isObject() || len(above) > 2*maxDocumentDepth || w.refs.followed > maxFollowed {
		return
	}
	w.follow(s, pointer, above, open)
	above = append(above, s)
	children(s, func(parent *document, i int, keyword, below string) {
		if keyword != "$defs" && keyword != "definitions" {
			w.inside(parent.members[i], pointer, above, open)
		}
	})
}
