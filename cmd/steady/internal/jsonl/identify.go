package jsonl

import "regexp"

var idAtEnd = regexp.MustCompile(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*\}\s*$`)

// Identify returns what can be told of a message that was too long: its id,
// from whichever end has it, and whether it is a request, not a response.
func Identify(head, tail []byte) (id []byte, request bool) {
	Members(head, func(key, value []byte) {
		switch string(key) {
		case "id":
			if IsID(value) {
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
