package proxy

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
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

// isID reports whether value is a string or a number.
func isID(value []byte) bool {
	return json.Valid(value) && (value[0] == '"' || value[0] == '-' || '0' <= value[0] && value[0] <= '9')
}

// text returns the text of a JSON string that is not empty.
func text(value []byte) (s string, ok bool) {
	if value[0] != '"' {
		return "", false
	}
	if s = string(value[1 : len(value)-1]); strings.IndexByte(s, '\\') >= 0 {
		_ = json.Unmarshal(value, &s)
	}
	return s, s != ""
}

// members calls visit with the members of an object at the top level. Where the
// JSON is not valid, or is cut off, it stops.
func members(object []byte, visit func(key, value []byte)) {
	i := skipSpace(object, 0)
	if i >= len(object) || object[i] != '{' {
		return
	}
	for i++; ; i++ {
		i = skipSpace(object, i)
		end := skipValue(object, i)
		if end < 0 || object[i] != '"' {
			return
		}
		key := object[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			s, _ := text(object[i:end])
			key = []byte(s)
		}
		if i = skipSpace(object, end); i >= len(object) || object[i] != ':' {
			return
		}
		i = skipSpace(object, i+1)
		if end = skipValue(object, i); end < 0 {
			return
		}
		visit(key, object[i:end])
		if i = skipSpace(object, end); i >= len(object) || object[i] != ',' {
			return
		}
	}
}

// elements is members for an array.
func elements(array []byte, visit func(value []byte)) {
	for i := 1; ; i++ {
		i = skipSpace(array, i)
		end := skipValue(array, i)
		if end < 0 {
			return
		}
		visit(array[i:end])
		if i = skipSpace(array, end); i >= len(array) || array[i] != ',' {
			return
		}
	}
}

// member returns one member of an object, or nil.
func member(object []byte, name string) (found []byte) {
	members(object, func(key, value []byte) {
		if string(key) == name {
			found = value
		}
	})
	return found
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the end of the value that begins at i, or -1 if it does not
// end in b.
func skipValue(b []byte, i int) int {
	depth := 0
	for start := i; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']', ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 { // the end of a number or a word
				if i == start {
					return -1
				}
				return i
			}
			if b[i] == '}' || b[i] == ']' {
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	return -1
}

// stringEnd returns where the string that begins at i has its closing quote, or -1.
func stringEnd(b []byte, i int) int {
	for i++; ; i++ {
		next := bytes.IndexByte(b[i:], '"')
		if next < 0 {
			return -1
		}
		i += next
		escapes := 0
		for b[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

// idKey is the same for two ids that are equal, however they are written.
func idKey(id []byte) string {
	switch {
	case len(id) == 0:
		return ""
	case id[0] == '"':
		s, _ := text(id)
		return "s" + s
	case bytes.ContainsAny(id, ".eE"):
		if n, err := strconv.ParseFloat(string(id), 64); err == nil && n == float64(int64(n)) {
			return strconv.FormatInt(int64(n), 10)
		}
	}
	return string(id)
}

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
	at := cap(line) - cap(old) // old is a part of line
	out := make([]byte, 0, len(line)+len(id))
	out = append(out, line[:at]...)
	out = append(out, id...)
	return append(out, line[at+len(old):]...)
}
