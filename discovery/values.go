package discovery

import (
	"bytes"
	"strconv"
	"strings"
)

func itoa(i int) string { return strconv.Itoa(i) }

// coerce turns n, in place, into what s wants, if nothing is lost by it. It
// returns what was done.
func (r *repairer) coerce(n *node, s *shape, path string) (string, bool) {
	if len(s.enum) > 0 {
		return r.toMember(n, s)
	}
	want := s.types &^ typeNull
	switch {
	case n.kind == 's' && want&(typeInteger|typeNumber) != 0:
		v := n.str()
		if numberLength([]byte(v)) != len(v) || v == "" || strings.HasPrefix(v, "-0") && strings.Trim(v, "-0") == "" {
			return "", false
		}
		num := &node{kind: 'n', raw: []byte(v), changed: true}
		if want&typeNumber == 0 && !plainInteger(v) {
			return "", false
		}
		if f, err := strconv.ParseFloat(v, 64); err != nil || f > 1e308 || f < -1e308 {
			return "", false
		}
		*n = *num
		if want&typeNumber == 0 {
			return "integer", true
		}
		return "number", true
	case n.kind == 's' && want&typeBoolean != 0:
		v := strings.ToLower(n.str())
		if v != "true" && v != "false" {
			return "", false
		}
		*n = node{kind: 'b', raw: []byte(v), changed: true}
		return "boolean", true
	case n.kind == 'n' && want&typeString != 0:
		if !plainInteger(string(n.raw)) {
			return "", false
		}
		*n = node{kind: 's', raw: quoteJSON(string(n.raw)), changed: true}
		return "string", true
	case n.kind == 's' && want&typeObject != 0:
		if d, ok := decoded(n, 'o'); ok {
			d.changed = true
			*n = *d
			return "json", true
		}
	case n.kind == 's' && want&typeArray != 0:
		text := strings.TrimSpace(n.str())
		if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
			if d, ok := decoded(n, 'a'); ok {
				d.changed = true
				*n = *d
				return "json", true
			}
			if d, ok := decoded(n, 'o'); ok && s.items != nil && s.items.types&typeObject != 0 {
				*n = node{kind: 'a', items: []*node{d}, changed: true}
				return "list", true
			}
			return "", false // broken JSON is not one value of a list
		}
		return toList(n, s)
	case want&typeArray != 0 && n.kind != 'a' && n.kind != '0':
		return toList(n, s)
	}
	return "", false
}

// plainInteger reports whether s is a whole number in the one way to write it.
func plainInteger(s string) bool {
	d := strings.TrimPrefix(s, "-")
	if d == "" || len(d) > 40 || d[0] == '0' && len(s) > 1 {
		return false
	}
	return strings.Trim(d, "0123456789") == ""
}

func lastKey(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}

// toList makes one value a list of one.
func toList(n *node, s *shape) (string, bool) {
	if n.kind == 's' && (n.str() == "" || n.str() == "null") {
		return "", false
	}
	if s.items != nil && s.items.types != 0 && s.items.types&typesOf(n) == 0 {
		return "", false
	}
	item := *n
	*n = node{kind: 'a', items: []*node{&item}, changed: true}
	return "list", true
}

// toMember finds the one member of an enumeration that a value is, but for
// case and separators.
func (r *repairer) toMember(n *node, s *shape) (string, bool) {
	var hit *node
	switch n.kind {
	case 's':
		want := fold(n.str())
		if want == "" {
			return "", false
		}
		for _, e := range s.enum {
			same := e.kind == 's' && fold(e.str()) == want || e.kind == 'n' && string(e.raw) == n.str()
			if same && hit != nil {
				return "", false
			}
			if same {
				hit = e
			}
		}
	case 'n':
		for _, e := range s.enum {
			if e.kind == 's' && e.str() == string(n.raw) {
				hit = e
			}
		}
	}
	if hit == nil {
		return "", false
	}
	*n = node{kind: hit.kind, raw: bytes.Clone(hit.raw), changed: true}
	return "enum", true
}

// nearest is the member that a text looks most like, if any does.
func nearest(text string, members []*node) *node {
	if len(text) > 64 {
		return nil
	}
	a := fold(text)
	var found *node
	best := 3
	for _, e := range members {
		if e.kind != 's' {
			continue
		}
		b := fold(e.str())
		if len(b) > 64 || b == "" {
			continue
		}
		if d := distance(a, b); d < best {
			best, found = d, e
		}
	}
	return found
}
