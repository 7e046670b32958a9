package errors

import "encoding/json"

// scrubJSON masks the credentials in raw, which is valid JSON and stays so: the
// strings under keys that name a credential, and what scrub finds in the other
// strings. Numbers, booleans, the order of keys and the blanks stay. It returns
// raw itself and false if there is nothing to mask.
func scrubJSON(raw []byte) (scrubbed []byte, changed bool) {
	text := string(raw)
	var out []byte
	copied := 0 // how much of text is in out, or left out of it
	replace := func(start, end int, by string) {
		quoted, _ := json.Marshal(by)
		out = append(append(out, text[copied:start]...), quoted...)
		copied = end
	}
	var levels []bool // of each open object and list, whether its strings are credentials
	hides := false    // whether the next value is one
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			// The keys of an object speak for themselves.
			levels = append(levels, false)
			hides = false
		case '[':
			levels = append(levels, hides)
		case '}', ']':
			levels = levels[:len(levels)-1]
			hides = false
		case ',':
			hides = levels[len(levels)-1]
		case '"':
			end := stringEnd(text, i)
			var s string
			_ = json.Unmarshal([]byte(text[i:end]), &s)
			if next := skipSpace(text, end); next < len(text) && text[next] == ':' {
				class := classify(s, false)
				hides = class == secret || class == header
				if by := scrub(s); by != s {
					replace(i, end, by)
				}
				i = next
				continue
			}
			if hides && !isComplaint(s) && !isPlaceholder(s) {
				replace(i, end, mask)
			} else if by := scrub(s); by != s {
				replace(i, end, by)
			}
			i = end - 1
		}
	}
	if copied == 0 {
		return raw, false
	}
	return append(out, text[copied:]...), true
}

// stringEnd returns the end of the JSON string that begins at pos.
func stringEnd(text string, pos int) int {
	for i := pos + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func skipSpace(text string, pos int) int {
	for pos < len(text) && (text[pos] == ' ' || text[pos] == '\t' || text[pos] == '\n' || text[pos] == '\r') {
		pos++
	}
	return pos
}
