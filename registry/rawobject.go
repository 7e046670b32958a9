package registry

import (
	"bytes"
	"encoding/json"
)

// A rawMember is one member of an object, its value as it was sent.
type rawMember struct {
	name  string
	value []byte
}

// rawMembers splits an object into its members without decoding their values,
// so that numbers keep their digits. It reports false for what is no object.
// Nothing, or null, is an object without members.
func rawMembers(data []byte) ([]rawMember, bool) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || string(data) == "null" {
		return nil, true
	}
	if data[0] != '{' || !json.Valid(data) {
		return nil, false
	}
	// From here on data is known to be well formed.
	var members []rawMember
	for i := 1; ; i++ { // i is behind a { or on the comma before a member
		i = skipTo(data, i, '"', '}')
		if data[i] == '}' {
			return members, true
		}
		end := stringEnd(data, i)
		m := rawMember{name: string(data[i+1 : end-1])}
		if bytes.IndexByte(data[i:end], '\\') >= 0 {
			_ = json.Unmarshal(data[i:end], &m.name)
		}
		start := skipTo(data, end, ':', ':') + 1
		i = valueEnd(data, start)
		m.value = bytes.TrimSpace(data[start:i])
		members = append(members, m)
		if data[i] == '}' {
			return members, true
		}
	}
}

func skipTo(data []byte, i int, a, b byte) int {
	for data[i] != a && data[i] != b {
		i++
	}
	return i
}

// stringEnd returns the index behind the string that begins at i.
func stringEnd(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd returns the index of the comma or brace behind the value at i.
func valueEnd(data []byte, i int) int {
	for depth := 0; ; i++ {
		switch data[i] {
		case '"':
			i = stringEnd(data, i) - 1
		case '{', '[':
			depth++
		case ',':
			if depth == 0 {
				return i
			}
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
}
