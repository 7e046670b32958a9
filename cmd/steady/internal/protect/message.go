package protect

import (
	"bytes"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
)

// A message is what of one has to be known to tell where it goes. Its fields are
// parts of the line.
type message struct {
	id     []byte // as it was written; nil if there is none
	method string // "" for a response
	params []byte
}

// read reads one message. What is no valid message is left to the next stage to
// refuse: nothing of it is found here, or what is found has no say.
func read(line []byte) (m message) {
	jsonl.Members(line, func(key, value []byte) {
		switch string(key) {
		case "id":
			m.id = value
		case "method":
			m.method, _ = jsonl.Text(value)
		case "params":
			m.params = value
		}
	})
	return m
}

// isArray reports whether a line holds several messages.
func isArray(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) > 0 && line[0] == '['
}

// withID returns a message under another id.
func withID(line, id []byte) []byte { return splice(line, jsonl.Member(line, "id"), id) }

// splice returns document with a part of it replaced, or itself if there is none.
func splice(document, part, by []byte) []byte {
	if part == nil {
		return document
	}
	return jsonl.Splice(document, jsonl.Edit{Part: part, With: by})
}
