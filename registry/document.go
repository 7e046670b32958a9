package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/steadymcp/steady/internal/wire"
)

// A document is one JSON value that keeps what encoding/json's any loses: the
// order of members and the digits of numbers. A schema's maximum of
// 9007199254740993 is advertised as that, and properties stay in the order in
// which their author wrote them.
type document struct {
	kind    byte // '{', '[' or 0 for a scalar
	scalar  string
	keys    []string    // of an object
	members []*document // of an object (parallel to keys) or an array
}

// Bounds of a document. They are far above what a client loads and keep a
// hostile listing from costing more than it weighs.
const (
	maxDocumentDepth = 200
	maxListingBytes  = 64 << 20
)

var errTooDeep = fmt.Errorf("JSON is nested deeper than %d levels", maxDocumentDepth)

func parseDocument(data []byte) (*document, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	d, err := decodeDocument(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("JSON is followed by more data")
	}
	return d, nil
}

func decodeDocument(dec *json.Decoder, depth int) (*document, error) {
	if depth > maxDocumentDepth {
		return nil, errTooDeep
	}
	t, err := dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		d := &document{kind: byte(t)}
		at := map[string]int{} // of several members with one name the last counts
		for dec.More() {
			if t == '{' {
				k, err := dec.Token()
				if err != nil {
					return nil, err
				}
				key := k.(string)
				if i, twice := at[key]; twice {
					if d.members[i], err = decodeDocument(dec, depth+1); err != nil {
						return nil, err
					}
					continue
				}
				at[key] = len(d.keys)
				d.keys = append(d.keys, key)
			}
			m, err := decodeDocument(dec, depth+1)
			if err != nil {
				return nil, err
			}
			d.members = append(d.members, m)
		}
		_, err := dec.Token() // the closing delimiter
		return d, err
	case json.Number:
		return &document{scalar: t.String()}, nil
	case string:
		return text(t), nil
	case bool:
		return &document{scalar: strconv.FormatBool(t)}, nil
	default:
		return &document{scalar: "null"}, nil
	}
}

func text(s string) *document { return &document{scalar: string(wire.AppendString(nil, s))} }

func object() *document { return &document{kind: '{'} }

func (d *document) isObject() bool { return d != nil && d.kind == '{' }
func (d *document) isArray() bool  { return d != nil && d.kind == '[' }
func (d *document) isNull() bool   { return d != nil && d.scalar == "null" }
func (d *document) isString() bool { return d != nil && strings.HasPrefix(d.scalar, `"`) }
func (d *document) isBool() bool {
	return d != nil && (d.scalar == "true" || d.scalar == "false")
}

// string returns the value of a string, or "".
func (d *document) string() string {
	if !d.isString() {
		return ""
	}
	var s string
	if err := json.Unmarshal([]byte(d.scalar), &s); err != nil {
		return ""
	}
	return s
}

// get returns the member called key, or nil. It may be called on anything.
func (d *document) get(key string) *document {
	if !d.isObject() {
		return nil
	}
	if i := slices.Index(d.keys, key); i >= 0 {
		return d.members[i]
	}
	return nil
}

func (d *document) has(key string) bool { return d.get(key) != nil }

// set replaces the member called key where it stands, or appends it.
func (d *document) set(key string, m *document) {
	if i := slices.Index(d.keys, key); i >= 0 {
		d.members[i] = m
		return
	}
	d.keys = append(d.keys, key)
	d.members = append(d.members, m)
}

func (d *document) remove(key string) {
	if i := slices.Index(d.keys, key); i >= 0 {
		d.keys = slices.Delete(d.keys, i, i+1)
		d.members = slices.Delete(d.members, i, i+1)
	}
}

func (d *document) clone() *document {
	if d == nil {
		return nil
	}
	c := *d
	c.keys = slices.Clone(d.keys)
	c.members = make([]*document, len(d.members))
	for i, m := range d.members {
		c.members[i] = m.clone()
	}
	return &c
}

// encode appends d without white space. If sorted, the members of objects are
// in the order of their names' bytes.
func (d *document) encode(dst []byte, sorted bool) []byte {
	switch d.kind {
	case '[':
		dst = append(dst, '[')
		for i, m := range d.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = m.encode(dst, sorted)
		}
		return append(dst, ']')
	case '{':
		order := make([]int, len(d.keys))
		for i := range order {
			order[i] = i
		}
		if sorted {
			slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(d.keys[a], d.keys[b]) })
		}
		dst = append(dst, '{')
		for n, i := range order {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = wire.AppendString(dst, d.keys[i])
			dst = append(dst, ':')
			dst = d.members[i].encode(dst, sorted)
		}
		return append(dst, '}')
	default:
		return append(dst, d.scalar...)
	}
}

func (d *document) bytes() []byte { return d.encode(nil, false) }
