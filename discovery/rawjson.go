package discovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds on arguments that are looked at. Larger ones pass through untouched,
// if they fit.
const (
	maxArguments = 1 << 20 // bytes
	maxDepth     = 64
	maxNodes     = 50_000
)

// A node is a JSON value that remembers its bytes. Numbers and strings are
// never decoded and encoded again, so that no digit is lost.
type node struct {
	kind    byte // 'o'bject, 'a'rray, 's'tring, 'n'umber, 'b'oolean, '0' null
	raw     []byte
	members []member
	items   []*node
	changed bool // raw is stale; members or items hold the value
}

type member struct {
	key   string
	value *node
}

var (
	errTooDeep = errors.New("nested too deeply")
	errTooBig  = errors.New("too many values")
)

// parseJSON parses one value. A repeated key in an object is an error: which of
// the two is meant, nobody can tell.
func parseJSON(raw []byte) (*node, error) {
	p := parser{src: raw}
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(raw) {
		return nil, p.fail("text after the value")
	}
	return n, nil
}

type parser struct {
	src   []byte
	at    int
	nodes int
}

func (p *parser) fail(what string) error { return fmt.Errorf("%s at byte %d", what, p.at) }

func (p *parser) space() {
	for p.at < len(p.src) {
		switch p.src[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	if p.nodes++; p.nodes > maxNodes {
		return nil, errTooBig
	}
	p.space()
	if p.at >= len(p.src) {
		return nil, p.fail("unexpected end")
	}
	start := p.at
	n := &node{}
	var err error
	switch c := p.src[p.at]; {
	case c == '{':
		n.kind, err = 'o', p.object(n, depth)
	case c == '[':
		n.kind, err = 'a', p.array(n, depth)
	case c == '"':
		n.kind, err = 's', p.str()
	case c == '-' || c >= '0' && c <= '9':
		n.kind, err = 'n', p.number()
	default:
		for _, word := range []string{"true", "false", "null"} {
			if bytes.HasPrefix(p.src[p.at:], []byte(word)) {
				p.at += len(word)
				n.kind = 'b'
				if word == "null" {
					n.kind = '0'
				}
				n.raw = p.src[start:p.at]
				return n, nil
			}
		}
		return nil, p.fail("unexpected character")
	}
	if err != nil {
		return nil, err
	}
	n.raw = p.src[start:p.at:p.at]
	return n, nil
}

func (p *parser) object(n *node, depth int) error {
	p.at++
	var seen map[string]bool // of many keys, which would take long to compare one by one
	for first := true; ; first = false {
		p.space()
		if p.at < len(p.src) && p.src[p.at] == '}' && first {
			p.at++
			return nil
		}
		if p.at >= len(p.src) || p.src[p.at] != '"' {
			return p.fail("expected a key")
		}
		start := p.at
		if err := p.str(); err != nil {
			return err
		}
		key, ok := text(p.src[start:p.at])
		if !ok {
			return p.fail("bad key")
		}
		twice := seen[key]
		if seen == nil {
			twice = n.get(key) != nil
		}
		if twice {
			return fmt.Errorf("the key %s appears twice", quote(key))
		}
		if p.space(); p.at >= len(p.src) || p.src[p.at] != ':' {
			return p.fail("expected a colon")
		}
		p.at++
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		if n.members == nil {
			n.members = make([]member, 0, 6)
		}
		n.members = append(n.members, member{key, v})
		switch {
		case seen != nil:
			seen[key] = true
		case len(n.members) > 16:
			seen = make(map[string]bool, 64)
			for _, m := range n.members {
				seen[m.key] = true
			}
		}
		p.space()
		if p.at < len(p.src) && p.src[p.at] == ',' {
			p.at++
			continue
		}
		if p.at < len(p.src) && p.src[p.at] == '}' {
			p.at++
			return nil
		}
		return p.fail("expected a comma or the end of the object")
	}
}

func (p *parser) array(n *node, depth int) error {
	p.at++
	for first := true; ; first = false {
		p.space()
		if p.at < len(p.src) && p.src[p.at] == ']' && first {
			p.at++
			return nil
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, v)
		p.space()
		if p.at < len(p.src) && p.src[p.at] == ',' {
			p.at++
			continue
		}
		if p.at < len(p.src) && p.src[p.at] == ']' {
			p.at++
			return nil
		}
		return p.fail("expected a comma or the end of the array")
	}
}

func (p *parser) str() error {
	for i := p.at + 1; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '"':
			p.at = i + 1
			return nil
		case c < 0x20:
			return p.fail("control character in a string")
		case c == '\\':
			i++
			if i >= len(p.src) {
				return p.fail("unexpected end")
			}
			switch p.src[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if i+4 >= len(p.src) || !isHex(p.src[i+1:i+5]) {
					return p.fail("bad escape")
				}
				i += 4
			default:
				return p.fail("bad escape")
			}
		}
	}
	return p.fail("unexpected end")
}

func isHex(b []byte) bool {
	for _, c := range b {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return false
		}
	}
	return true
}

func (p *parser) number() error {
	n := numberLength(p.src[p.at:])
	if n == 0 {
		return p.fail("bad number")
	}
	p.at += n
	return nil
}

// numberLength returns the length of the JSON number that b begins with.
func numberLength(b []byte) int {
	i := 0
	digits := func() bool {
		start := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > start
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	start := i
	if !digits() || b[start] == '0' && i > start+1 {
		return 0
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return 0
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}

// text decodes a JSON string.
func text(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), true
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

// quoteJSON encodes a string.
func quoteJSON(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be encoded
	return bytes.TrimRight(b.Bytes(), "\n")
}

func textNode(s string) *node { return &node{kind: 's', raw: quoteJSON(s)} }

func (n *node) str() string {
	s, _ := text(n.raw)
	return s
}

func (n *node) get(key string) *node {
	for i := range n.members {
		if n.members[i].key == key {
			return n.members[i].value
		}
	}
	return nil
}

// bytes returns the value's encoding: the bytes that came, but for what was
// changed.
func (n *node) bytes() []byte {
	if !n.isChanged() {
		return n.raw
	}
	return n.append(nil)
}

func (n *node) isChanged() bool {
	if n.changed {
		return true
	}
	for i := range n.members {
		if n.members[i].value.isChanged() {
			return true
		}
	}
	for _, v := range n.items {
		if v.isChanged() {
			return true
		}
	}
	return false
}

func (n *node) append(b []byte) []byte {
	if !n.isChanged() {
		return append(b, n.raw...)
	}
	switch n.kind {
	case 'o':
		b = append(b, '{')
		for i, m := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, quoteJSON(m.key)...), ':')
			b = m.value.append(b)
		}
		return append(b, '}')
	case 'a':
		b = append(b, '[')
		for i, v := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.append(b)
		}
		return append(b, ']')
	}
	return append(b, n.raw...)
}

// clone copies the value deeply enough to be repaired without changing n.
func (n *node) clone() *node {
	c := *n
	if n.members != nil {
		c.members = make([]member, len(n.members))
		for i, m := range n.members {
			c.members[i] = member{m.key, m.value.clone()}
		}
	}
	if n.items != nil {
		c.items = make([]*node, len(n.items))
		for i, v := range n.items {
			c.items[i] = v.clone()
		}
	}
	return &c
}

// kindName names a kind of value as JSON Schema does.
func (n *node) kindName() string {
	switch n.kind {
	case 'o':
		return "object"
	case 'a':
		return "array"
	case 's':
		return "string"
	case 'n':
		return "number"
	case 'b':
		return "boolean"
	}
	return "null"
}

// pointer appends a key to a JSON pointer (RFC 6901).
func pointer(path, key string) string {
	return path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
