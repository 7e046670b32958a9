package pagination

import (
	"encoding/json"
	"hash/maphash"
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// The functions in this file look at JSON text without decoding it, so that a
// number is never rounded and a large value is never copied. They find where
// values end, not whether the text is valid: whoever builds new text from the
// pieces checks the outcome with [json.Valid].

// view returns b as a string without a copy. The string must not outlive the
// call that b was handed to, because its owner may reuse the bytes after that.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t') {
		i++
	}
	return i
}

func trimSpace(s string) string { return strings.Trim(s, " \t\r\n") }

// skipString returns the index behind the string that begins at i, or -1.
func skipString(s string, i int) int {
	i++
	for {
		j := strings.IndexByte(s[i:], '"')
		if j < 0 {
			return -1
		}
		quote := i + j
		back := quote
		for back > i && s[back-1] == '\\' {
			back--
		}
		i = quote + 1
		if (quote-back)%2 == 0 {
			return i
		}
	}
}

// skipValue returns the index behind the value that begins at i, or -1.
func skipValue(s string, i int) int {
	if i >= len(s) {
		return -1
	}
	switch s[i] {
	case '"':
		return skipString(s, i)
	case '{', '[':
		depth := 0
		for i < len(s) {
			switch s[i] {
			case '"':
				if i = skipString(s, i); i < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return -1
	case '}', ']', ',', ':':
		return -1
	}
	for i < len(s) {
		switch s[i] {
		case ' ', '\n', '\r', '\t', ',', ']', '}':
			return i
		}
		i++
	}
	return i
}

// walker steps through the members of an object or the items of an array.
type walker struct {
	s      string
	i      int
	end    byte
	first  bool
	failed bool

	key   string // the member's name with its quotes; empty for an item
	value string
}

// walk returns a walker over s, which must begin with { or [.
func walk(s string) *walker {
	return &walker{s: s, i: 1, end: s[0] + 2, first: true} // in ASCII ']' is '['+2 and '}' is '{'+2
}

// next moves to the next member or item. It returns false at the end, and
// also, with failed set, at text that is no JSON.
func (w *walker) next() bool {
	w.i = skipSpace(w.s, w.i)
	if w.i >= len(w.s) {
		w.failed = true
		return false
	}
	switch {
	case w.s[w.i] == w.end:
		return false
	case w.first:
		w.first = false
	case w.s[w.i] != ',':
		w.failed = true
		return false
	default:
		w.i = skipSpace(w.s, w.i+1)
	}
	if w.end == '}' {
		from := w.i
		if from >= len(w.s) || w.s[from] != '"' {
			w.failed = true
			return false
		}
		to := skipString(w.s, from)
		if to < 0 {
			w.failed = true
			return false
		}
		w.key = w.s[from:to]
		w.i = skipSpace(w.s, to)
		if w.i >= len(w.s) || w.s[w.i] != ':' {
			w.failed = true
			return false
		}
		w.i = skipSpace(w.s, w.i+1)
	}
	from := w.i
	if w.i = skipValue(w.s, from); w.i < 0 {
		w.i, w.failed = len(w.s), true
		return false
	}
	w.value = w.s[from:w.i]
	return true
}

// rest returns how many more members or items there are.
func (w *walker) rest() int {
	n := 0
	for w.next() {
		n++
	}
	return n
}

// countItems returns how many items the array s has.
func countItems(s string) int { return walk(s).rest() }

// unquote returns the text of a JSON string, or its raw form if it has none.
func unquote(literal string) string {
	if strings.IndexByte(literal, '\\') < 0 && len(literal) >= 2 {
		return literal[1 : len(literal)-1]
	}
	var s string
	if json.Unmarshal([]byte(literal), &s) != nil {
		return literal
	}
	return s
}

// isComposite reports whether s, without surrounding space, looks like an
// object or an array.
func isComposite(s string) bool {
	return len(s) >= 2 && (s[0] == '{' && s[len(s)-1] == '}' || s[0] == '[' && s[len(s)-1] == ']')
}

var hashSeed = maphash.MakeSeed()

// maxDepth is how many levels of nesting are compared and cut.
const maxDepth = 64

// sameJSON reports whether a and b are the same value: the order of an
// object's members, space, escapes and the notation of a number do not count.
// Numbers that float64 cannot tell apart are the same. Values nested deeper
// than maxDepth are the same only if their text is.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	ha, oka := hashJSON(a)
	hb, okb := hashJSON(b)
	return oka && okb && ha == hb
}

func hashJSON(s string) (uint64, bool) {
	h, i := hashValue(s, skipSpace(s, 0), 0)
	return h, i >= 0 && skipSpace(s, i) == len(s)
}

// hashValue returns a hash of the value at i and the index behind it, or -1.
func hashValue(s string, i, depth int) (uint64, int) {
	if i < 0 || i >= len(s) || depth > maxDepth {
		return 0, -1
	}
	switch s[i] {
	case '"':
		end := skipString(s, i)
		if end < 0 {
			return 0, -1
		}
		return maphash.String(hashSeed, unquote(s[i:end])), end
	case '{':
		var sum uint64 = 0x9e3779b97f4a7c15
		for i = skipSpace(s, i+1); i < len(s); i = skipSpace(s, i+1) {
			if s[i] == '}' {
				return sum, i + 1
			}
			if s[i] != '"' {
				return 0, -1
			}
			end := skipString(s, i)
			if end < 0 {
				return 0, -1
			}
			key := maphash.String(hashSeed, unquote(s[i:end]))
			if i = skipSpace(s, end); i >= len(s) || s[i] != ':' {
				return 0, -1
			}
			value, end := hashValue(s, skipSpace(s, i+1), depth+1)
			if end < 0 {
				return 0, -1
			}
			sum += mix(key, value)
			if i = skipSpace(s, end); i < len(s) && s[i] == '}' {
				return sum, i + 1
			}
		}
		return 0, -1
	case '[':
		var sum uint64 = 0xc2b2ae3d27d4eb4f
		for i = skipSpace(s, i+1); i < len(s); i = skipSpace(s, i+1) {
			if s[i] == ']' {
				return sum, i + 1
			}
			value, end := hashValue(s, i, depth+1)
			if end < 0 {
				return 0, -1
			}
			sum = mix(sum, value)
			if i = skipSpace(s, end); i < len(s) && s[i] == ']' {
				return sum, i + 1
			}
		}
		return 0, -1
	}
	end := skipValue(s, i)
	if end <= i {
		return 0, -1
	}
	if f, err := strconv.ParseFloat(s[i:end], 64); err == nil {
		return mix(1, math.Float64bits(f)), end
	}
	return mix(2, maphash.String(hashSeed, s[i:end])), end
}

func mix(a, b uint64) uint64 {
	h := (a ^ 0xff51afd7ed558ccd) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29 ^ b) * 0xbf58476d1ce4e5b9
	return h ^ h>>32
}

// hasLongInteger reports whether s holds a number that a float64 would round.
func hasLongInteger(s string) bool {
	digits := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			if i = skipString(s, i) - 1; i < 0 {
				return false
			}
			digits = 0
		case '0' <= c && c <= '9':
			if digits++; digits >= 16 {
				return true
			}
		case c != '.':
			digits = 0
		}
	}
	return false
}
