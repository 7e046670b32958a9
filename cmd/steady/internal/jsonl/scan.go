package jsonl

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// IsID reports whether value is a string or a number.
func IsID(value []byte) bool {
	return json.Valid(value) && (value[0] == '"' || value[0] == '-' || '0' <= value[0] && value[0] <= '9')
}

// Text returns the text of a JSON string that is not empty.
func Text(value []byte) (s string, ok bool) {
	if value[0] != '"' {
		return "", false
	}
	if s = string(value[1 : len(value)-1]); strings.IndexByte(s, '\\') >= 0 {
		_ = json.Unmarshal(value, &s)
	}
	return s, s != ""
}

// Members calls visit with the members of an object at the top level. Where the
// JSON is not valid, or is cut off, it stops.
func Members(object []byte, visit func(key, value []byte)) {
	each(object, func(_, key, value []byte) { visit(key, value) })
}

// each is [Members] that says also how the key is written.
func each(object []byte, visit func(written, key, value []byte)) {
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
		written := object[i:end]
		key := written[1 : len(written)-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			s, _ := Text(written)
			key = []byte(s)
		}
		if i = skipSpace(object, end); i >= len(object) || object[i] != ':' {
			return
		}
		i = skipSpace(object, i+1)
		if end = skipValue(object, i); end < 0 {
			return
		}
		visit(written, key, object[i:end])
		if i = skipSpace(object, end); i >= len(object) || object[i] != ',' {
			return
		}
	}
}

// Elements is [Members] for an array.
func Elements(array []byte, visit func(value []byte)) {
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

// Member returns one member of an object, or nil.
func Member(object []byte, name string) (found []byte) {
	Members(object, func(key, value []byte) {
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

// IDKey is the same for two ids that are equal, however they are written.
func IDKey(id []byte) string {
	switch {
	case len(id) == 0:
		return ""
	case id[0] == '"':
		s, _ := Text(id)
		return "s" + s
	case bytes.ContainsAny(id, ".eE"):
		if n, err := strconv.ParseFloat(string(id), 64); err == nil && n == float64(int64(n)) {
			return strconv.FormatInt(int64(n), 10)
		}
	}
	return string(id)
}
