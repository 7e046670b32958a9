package proxy

import (
	"io"
	"regexp"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
)

// frames reads lines.
type frames struct{ *jsonl.Reader }

func newFrames(r io.Reader, limit int) *frames { return &frames{jsonl.NewReader(r, limit)} }

func (f *frames) next() (line, tail []byte, cut bool, err error) { return f.Next() }

var idAtEnd = regexp.MustCompile(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*\}\s*$`)

// identify returns what can be told of a message that was too long: its id,
// from whichever end has it, and whether it is a request, not a response.
func identify(head, tail []byte) (id []byte, request bool) {
	members(head, func(key, value []byte) {
		switch string(key) {
		case "id":
			if isID(value) {
				id = value
			}
		case "method":
			request = true
		}
	})
	if id == nil {
		if m := idAtEnd.FindSubmatch(tail); m != nil {
			id = m[1]
		}
	}
	return id, request
}
