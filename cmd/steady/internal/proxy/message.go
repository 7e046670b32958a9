package proxy

import (
	"bytes"
	"encoding/json"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
)

// A message is what has to be known of one to pass it on. Its fields are parts
// of the line that it was read from.
type message struct {
	id     []byte // as it was written; nil if there is none
	method string // "" for a response
	params []byte
}

func (m *message) isRequest() bool  { return m.method != "" && m.id != nil }
func (m *message) isResponse() bool { return m.method == "" }

// parse reads a line that holds one message, or an array of them, which the
// revision 2025-03-26 allows. It reports whether the line is nothing else.
func parse(line []byte) (messages []message, ok bool) {
	if !json.Valid(line) {
		return nil, false
	}
	line = bytes.TrimLeft(line, " \t")
	if line[0] != '[' {
		m, ok := parseOne(line)
		return []message{m}, ok
	}
	ok = true
	elements(line, func(value []byte) {
		m, good := parseOne(value)
		messages, ok = append(messages, m), ok && good
	})
	return messages, ok && len(messages) > 0
}

// parseOne reads one message in valid JSON.
func parseOne(value []byte) (m message, ok bool) {
	version, answer, method, id := false, false, true, true
	members(value, func(key, value []byte) {
		switch string(key) {
		case "jsonrpc":
			version = string(value) == `"2.0"`
		case "id":
			m.id = value
			id = isID(value) || string(value) == "null"
		case "method":
			m.method, method = text(value)
		case "params":
			m.params = value
		case "result", "error":
			answer = true
		}
	})
	return m, version && method && id && (m.method != "" || answer)
}

// What looks into JSON without decoding it.
var (
	isID     = jsonl.IsID
	text     = jsonl.Text
	members  = jsonl.Members
	elements = jsonl.Elements
	member   = jsonl.Member
	idKey    = jsonl.IDKey
)

// salvage finds a message at the end of a line that begins with something else,
// which is what a print without a line feed leaves. It tries a few places only.
func salvage(line []byte) (stray, rest []byte) {
	from := 0
	for range 16 {
		i := bytes.Index(line[from:], []byte(`{"`))
		if i < 0 {
			return line, nil
		}
		from += i
		if messages, ok := parse(line[from:]); ok && len(messages) == 1 {
			return line[:from], line[from:]
		}
		from++
	}
	return line, nil
}

// withID returns a message with another id, which is valid JSON.
func withID(line []byte, id string) []byte {
	old := member(line, "id")
	if old == nil {
		return line
	}
	return jsonl.Splice(line, jsonl.Edit{Part: old, With: []byte(id)})
}
