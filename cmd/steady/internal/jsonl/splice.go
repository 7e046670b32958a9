package jsonl

import (
	"bytes"
	"slices"
)

// An Edit puts With where Part is. Part must be a part of the document, as
// [Member] and the others return it.
type Edit struct{ Part, With []byte }

// Splice returns a copy of the document with parts of it replaced. Whatever
// stands between them stays as it is.
func Splice(document []byte, edits ...Edit) []byte {
	at := func(e Edit) int { return cap(document) - cap(e.Part) }
	slices.SortFunc(edits, func(a, b Edit) int { return at(a) - at(b) })
	size := len(document) + 1 // room for the end of the line
	for _, e := range edits {
		size += len(e.With)
	}
	out, from := make([]byte, 0, size), 0
	for _, e := range edits {
		out = append(append(out, document[from:at(e)]...), e.With...)
		from = at(e) + len(e.Part)
	}
	return append(out, document[from:]...)
}

// WithMember returns a copy of an object with one more member in front.
func WithMember(object []byte, name string, value []byte) []byte {
	rest := bytes.TrimSpace(object[skipSpace(object, 0)+1:])
	out := append([]byte(`{"`+name+`":`), value...)
	if rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, rest...)
}

// Without returns a copy of an object without the members of these names, or {}
// for what is no object.
func Without(object []byte, names ...string) []byte {
	out := []byte{'{'}
	each(object, func(key, name, value []byte) {
		if slices.Contains(names, string(name)) {
			return
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	})
	return append(out, '}')
}
