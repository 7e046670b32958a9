package registry

import (
	"bytes"
	"math/big"
	"slices"
	"strings"

	"github.com/steadymcp/steady/internal/wire"
)

// Bounds on what is copied to compare schemas with their references replaced, in
// bytes.
const (
	maxCompared    = 1 << 20  // for one
	maxComparedAll = 32 << 20 // for all of two listings
)

// arguments is normalized for an input schema, which is an object's, whether it
// says so or not.
func (d *differ) arguments(s *document) *document {
	s = d.normalized(s)
	if !s.has("type") {
		s.set("type", text("object"))
	}
	return s
}

// normalized returns a copy of a schema in which what means the same is written
// the same: with its local references replaced, if they can be.
func (d *differ) normalized(s *document) *document {
	if !s.isObject() {
		return object() // true, or nothing
	}
	before := len(s.bytes())
	c, _, ok := inlineWithin(s, min(maxCompared, d.budget))
	if ok {
		d.budget -= max(len(c.bytes())-before, 0)
		c.remove("$defs")
		c.remove("definitions")
	} else {
		c = s.clone()
	}
	normalize(c)
	return c
}

// idle are keywords with values that say nothing.
var idle = map[string]string{"additionalProperties": "true", "uniqueItems": "false", "minItems": "0", "minLength": "0", "minProperties": "0", "deprecated": "false"}

func normalize(s *document) {
	children(s, func(parent *document, i int, keyword, _ string) {
		m := parent.members[i]
		if m.scalar == "true" && keyword != "additionalProperties" {
			m = object()
			parent.members[i] = m
		}
		normalize(m)
	})
	if !s.isObject() {
		return
	}
	for keyword, value := range idle {
		if m := s.get(keyword); m != nil && m.scalar == value {
			s.remove(keyword)
		}
	}
	if r := s.get("required"); r.isArray() && len(r.members) == 0 {
		s.remove("required")
	}
	if a := s.get("additionalProperties"); a.isObject() && len(a.keys) == 0 {
		s.remove("additionalProperties")
	}
	if i := s.get("items"); i.isObject() && len(i.keys) == 0 {
		s.remove("items")
	}
	if v := s.get("const"); v != nil && !s.has("enum") {
		s.remove("const")
		s.set("enum", &document{kind: '[', members: []*document{v}})
	}
	foldNull(s)
	integerBounds(s)
}

// foldNull writes {"anyOf": [T, {"type": "null"}]} as T with null among its types.
func foldNull(s *document) {
	for _, k := range []string{"anyOf", "oneOf"} {
		branches := s.get(k)
		if !branches.isArray() || len(branches.members) != 2 || s.has("type") {
			continue
		}
		null := slices.IndexFunc(branches.members, func(b *document) bool { return len(b.keys) == 1 && b.get("type").string() == "null" })
		if null < 0 {
			continue
		}
		other := branches.members[1-null]
		types := typesOf(other)
		if !other.has("type") || other.has("enum") || other.has("const") {
			continue
		}
		types = append(slices.DeleteFunc(types, func(t string) bool { return t == "null" }), "null")
		list := &document{kind: '['}
		for _, t := range types {
			list.members = append(list.members, text(t))
		}
		s.remove(k)
		merge(s, other)
		s.set("type", list)
	}
}

// integerBounds writes the exclusive bounds of an integer as inclusive ones.
func integerBounds(s *document) {
	if s.get("type").string() != "integer" {
		return
	}
	for _, b := range []struct {
		exclusive, inclusive string
		step                 int64
	}{{"exclusiveMinimum", "minimum", 1}, {"exclusiveMaximum", "maximum", -1}} {
		n, ok := number(s.get(b.exclusive))
		if !ok || !n.IsInt() || s.has(b.inclusive) || n.MantExp(nil) > 128 {
			continue
		}
		i, _ := n.Int(nil)
		s.remove(b.exclusive)
		s.set(b.inclusive, &document{scalar: i.Add(i, big.NewInt(b.step)).String()})
	}
}

// equal reports whether two values are one to JSON Schema: members in any order,
// numbers by value.
func equal(a, b *document) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(comparable(a), comparable(b))
}

// comparable encodes a value so that equal ones have equal bytes.
func comparable(d *document) []byte { return appendComparable(nil, d) }

func appendComparable(dst []byte, d *document) []byte {
	switch d.kind {
	case '[':
		dst = append(dst, '[')
		for _, m := range d.members {
			dst = append(appendComparable(dst, m), ',')
		}
		return append(dst, ']')
	case '{':
		order := make([]int, len(d.keys))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(d.keys[a], d.keys[b]) })
		dst = append(dst, '{')
		for _, i := range order {
			dst = append(wire.AppendString(dst, d.keys[i]), ':')
			dst = append(appendComparable(dst, d.members[i]), ',')
		}
		return append(dst, '}')
	}
	if d.isOf("number") {
		if f, ok := number(d); ok {
			return f.Append(dst, 'g', -1)
		}
	}
	return append(dst, d.scalar...)
}
