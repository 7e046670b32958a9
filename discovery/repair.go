package discovery

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Change is one thing that was repaired in a call's arguments. It never
// holds a value.
type Change struct {
	// Path is the JSON pointer (RFC 6901) of the value in the repaired
	// arguments, or of what was dropped.
	Path string `json:"path"`
	// Kind is what was done: "empty", "json", "unwrapped", "spelling", "affix",
	// "alias", "plural", "synonym", "typo", "residual", "number", "integer",
	// "boolean", "string", "list", "enum", "dropped".
	Kind string `json:"kind"`
	// From is the key that was sent, if it was another.
	From string `json:"from,omitempty"`
}

// A problem is what is wrong at one path and could not be repaired.
type problem struct {
	path   string
	sent   string // what was sent, without its value
	want   string // what is wanted
	near   string // the nearest property or member, if any
	tried  bool   // a repair stood in view but is not certain
	acts   bool   // the call must not be copied: without what is wrong it would act
	sample *node  // for the corrected call: the value, if a likely one is known
}

// A repairer mends the arguments of one call.
type repairer struct {
	lex         *lexicon
	declared    map[string]string // folded other name: property
	toolWords   map[string]bool
	soleID      string // the one property that is called <noun>_id
	destructive bool
	changes     []Change
	problems    []problem
}

// repaired is the outcome of repair.
type repaired struct {
	arguments []byte // as they came, if nothing was changed
	root      *node  // of what came, mended as far as it goes; nil if it is no JSON
	changes   []Change
	problems  []problem
}

func (o *settings) newRepairer(tool string, destructive bool) *repairer {
	r := &repairer{lex: o.lex, destructive: destructive, toolWords: map[string]bool{}}
	for _, w := range split(tool) {
		r.toolWords[o.lex.canonical(w)] = true
	}
	if o.aliases != nil {
		r.declared = map[string]string{}
		for other, prop := range o.aliases.ArgumentAliases(tool) {
			r.declared[fold(other)] = prop
		}
	}
	return r
}

// Bounds on what is mended in one call. What needs more was not meant for this
// tool.
const (
	maxUnknown = 64 // keys of one object
	maxRepairs = 64 // changes, and problems
)

// change notes what was done.
func (r *repairer) change(c Change) { r.changes = append(r.changes, c) }

// note notes what is wrong.
func (r *repairer) note(p problem) { r.problems = append(r.problems, p) }

// full reports whether so much is wrong that the rest is not looked at.
func (r *repairer) full() bool { return len(r.changes) >= maxRepairs || len(r.problems) >= maxRepairs }

// fitting parses arguments and reports whether nothing is left to repair:
// because they fit, or because they are no JSON or too large to be looked at.
// Arguments that are missing or null are an empty object.
func (c *compiled) fitting(raw []byte) (out repaired, done bool) {
	out = repaired{arguments: raw}
	if trim := bytes.TrimSpace(raw); len(trim) == 0 {
		out.arguments = []byte("{}") // the usual call of a tool without parameters
	} else if bytes.Equal(trim, []byte("null")) {
		out.arguments, out.changes = []byte("{}"), []Change{{Kind: "empty"}}
	}
	if len(raw) > maxArguments {
		return out, true
	}
	if c.root.scan(out.arguments) == valid {
		return out, true
	}
	root, err := parseJSON(out.arguments)
	if err == errTooDeep || err == errTooBig {
		if !c.validates(out.arguments) {
			out.problems = []problem{{sent: "arguments that do not fit and are " + err.Error() + " to be repaired", want: "what the tool's input schema asks for" + c.complaint(out.arguments)}}
		}
		return out, true
	}
	if err != nil {
		out.problems = []problem{{sent: "text that is not valid JSON (" + err.Error() + ")", want: "one JSON object"}}
		return out, true
	}
	out.root = root
	return out, c.valid(root)
}

// repair mends what fails and is certain in arguments that do not fit.
func (r *repairer) repair(out repaired, c *compiled) repaired {
	root := out.root
	r.changes = out.changes
	root = root.clone()
	out.root = root
	if root.kind == 's' && c.root.types&typeObject != 0 {
		if inner, ok := decoded(root, 'o'); ok {
			*root = *inner
			root.changed = true
			r.change(Change{Kind: "json"})
		}
	}
	if root.kind != 'o' {
		out.problems = []problem{{sent: aOrAn(root.kindName()), want: "one JSON object"}}
		return out
	}
	r.unwrap(root, c)
	r.value(root, c.root, "", true)
	if r.full() && len(r.problems) == 0 {
		r.note(problem{sent: fmt.Sprintf("arguments with %d or more mistakes", maxRepairs), want: "what the tool's input schema asks for"})
	}
	out.problems = r.problems
	if len(out.problems) > 0 {
		return out
	}
	fixed := root.bytes()
	again, err := parseJSON(fixed)
	if err != nil || !c.valid(again) {
		out.problems = []problem{{sent: "arguments that do not fit together", want: "what the tool's input schema asks for" + c.complaint(fixed)}}
		return out
	}
	out.arguments, out.changes = fixed, r.changes
	return out
}

// unwrap takes the arguments out of a sole wrapper, such as {"params": {...}},
// if all that is inside fits.
func (r *repairer) unwrap(root *node, c *compiled) {
	for range 3 {
		if len(root.members) != 1 {
			return
		}
		m := root.members[0]
		if !wrappers[fold(m.key)] || c.root.props[m.key] != nil || c.root.extra != nil {
			return
		}
		inner := m.value
		if inner.kind == 's' {
			d, ok := decoded(inner, 'o')
			if !ok {
				return
			}
			inner = d
		}
		if inner.kind != 'o' {
			return
		}
		trial := &repairer{lex: r.lex, declared: r.declared, toolWords: r.toolWords, destructive: r.destructive}
		candidate := inner.clone()
		nested := len(candidate.members) == 1 && wrappers[fold(candidate.members[0].key)] && c.root.props[candidate.members[0].key] == nil
		if !nested {
			trial.value(candidate, c.root, "", true)
			for _, p := range trial.problems {
				// What is missing may be reported of the inside; what does not
				// belong there says that this is no wrapper.
				if p.sent != "" {
					return
				}
			}
		}
		*root = *inner.clone()
		root.changed = true
		r.change(Change{Kind: "unwrapped", From: m.key})
	}
}

// decoded parses JSON text of the given kind.
func decoded(n *node, kind byte) (*node, bool) {
	s := n.str()
	if len(s) > maxArguments {
		return nil, false
	}
	d, err := parseJSON([]byte(s))
	if err != nil || d.kind != kind {
		return nil, false
	}
	return d, true
}

// value mends n in place so that it fits s, or notes why not.
func (r *repairer) value(n *node, s *shape, path string, required bool) {
	if r.full() || s.check(n) == valid {
		return
	}
	if acts, flag := consent(lastKey(path)); flag && r.destructive {
		// Consent is not guessed. The text of a boolean is taken for it only
		// where it asks that nothing be done.
		if n.kind == 's' && s.types&typeBoolean != 0 && !s.union && strings.EqualFold(n.str(), strconv.FormatBool(!acts)) {
			*n = *boolean(!acts)
			n.changed = true
			r.change(Change{Path: path, Kind: "boolean"})
		} else {
			r.fail(n, s, path)
		}
		return
	}
	if n.kind == 'o' && (s.types == 0 || s.types&typeObject != 0) && !s.union {
		r.object(n, s, path)
		return
	}
	if n.kind == 'a' && s.types&typeArray != 0 && !s.union {
		if s.items != nil {
			for i, item := range n.items {
				r.value(item, s.items, pointer(path, itoa(i)), true)
			}
		}
		r.bounded(n, s, path)
		return
	}
	if s.union && s.fitsNoBranch(n) {
		r.fail(n, s, path)
		return
	}
	if len(s.enum) == 0 && (s.types == 0 || s.types&typesOf(n) != 0) {
		r.bounded(n, s, path) // what is left to say then, only the whole schema can
		return
	}
	if s.union {
		if s.types&typesOf(n) == 0 {
			r.fail(n, s, path)
		}
		return
	}
	if kind, ok := r.coerce(n, s, path); ok {
		if kind != "" {
			r.change(Change{Path: path, Kind: kind})
		}
		if n.kind == 'o' || n.kind == 'a' {
			r.value(n, s, path, required)
		} else {
			r.bounded(n, s, path)
		}
		return
	}
	r.fail(n, s, path)
}

// bounded notes a value of the right type that breaks a bound.
func (r *repairer) bounded(n *node, s *shape, path string) {
	if want, nearest, broken := s.bounds.broken(n); broken {
		r.note(problem{path: path, sent: sentValue(n, path), want: want, sample: nearest})
	}
}

func (r *repairer) fail(n *node, s *shape, path string) {
	p := problem{path: path, sent: sentValue(n, path), want: s.wants()}
	if len(s.enum) > 0 && n.kind == 's' {
		if e := nearest(n.str(), s.enum); e != nil {
			p.near, p.sample = e.str(), e
		}
	}
	if acts, flag := consent(lastKey(path)); flag && r.destructive && s.types&typeBoolean != 0 {
		p.sample = boolean(!acts)
	}
	r.note(p)
}

// object mends the keys of an object, then its values.
func (r *repairer) object(n *node, s *shape, path string) {
	r.keys(n, s, path)
	for i := 0; i < len(n.members) && !r.full(); i++ {
		m := &n.members[i]
		sub := s.props[m.key]
		if sub == nil {
			if sub = s.extra; sub == nil {
				continue
			}
		}
		at := pointer(path, m.key)
		optional := !slices.Contains(s.required, m.key)
		if optional && !(r.destructive && isConsent(m.key)) && droppable(m.value, sub) {
			r.change(Change{Path: at, Kind: "dropped"})
			n.members = slices.Delete(n.members, i, i+1)
			n.changed = true
			i--
			continue
		}
		r.value(m.value, sub, at, !optional)
	}
	for _, name := range s.required {
		if n.get(name) == nil && !slices.ContainsFunc(r.problems, func(p problem) bool { return p.near == name && p.path == path }) {
			want := "a value"
			if sub := s.props[name]; sub != nil {
				want = sub.wants()
			}
			r.note(problem{path: pointer(path, name), want: want})
		}
	}
}

// droppable reports whether an optional property's value stands for its
// absence: null where null is not allowed, and empty text, or the text "null",
// where only something else makes sense. Empty text is a value where any text is.
func droppable(n *node, s *shape) bool {
	if s.check(n) == valid {
		return false
	}
	switch n.kind {
	case '0':
		return s.types != 0 && s.types&typeNull == 0
	case 's':
		v := n.str()
		if v == "" {
			return !s.union && (s.constrained || s.types != 0 && s.types&typeString == 0)
		}
		return v == "null" && s.types != 0 && s.types&typeString == 0
	}
	return false
}
