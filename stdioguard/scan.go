package stdioguard

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// maxDepth is how deep a message may nest, the message itself included. It is
// the limit of the SDK, which ends the session of a peer that passes it.
const maxDepth = 1000

// What can be wrong with a line.
var (
	errSyntax = errors.New("not valid JSON")
	errUTF8   = errors.New("not valid UTF-8")
	errDepth  = errors.New("nested deeper than 1000 levels")
	// errNotObject is about a line that is JSON.
	errNotObject = errors.New("not a JSON object")
)

// scanLine checks that b is one JSON value and nothing else but blanks. It is
// encoding/json.Valid that also wants UTF-8 and bounds the nesting.
func scanLine(b []byte) error {
	i, err := scanValue(b, 0, 0)
	if err != nil {
		return err
	}
	if skipBlanks(b, i) != len(b) {
		return errSyntax
	}
	return nil
}

// scanMembers checks that b is one JSON object, as scanLine does, and calls
// visit with the raw text of each of its members. The name comes without its
// quotes and with its escapes.
func scanMembers(b []byte, visit func(name, value []byte)) error {
	i := skipBlanks(b, 0)
	if i >= len(b) || b[i] != '{' {
		return errSyntax
	}
	i = skipBlanks(b, i+1)
	if i < len(b) && b[i] == '}' {
		return blankFrom(b, i+1)
	}
	for {
		nameEnd, err := scanName(b, i)
		if err != nil {
			return err
		}
		colon, err := scanColon(b, nameEnd)
		if err != nil {
			return err
		}
		start := skipBlanks(b, colon)
		end, err := scanValue(b, start, 1)
		if err != nil {
			return err
		}
		visit(b[i+1:nameEnd-1], b[start:end])
		i = skipBlanks(b, end)
		switch {
		case i >= len(b):
			return errSyntax
		case b[i] == '}':
			return blankFrom(b, i+1)
		case b[i] != ',':
			return errSyntax
		}
		i = skipBlanks(b, i+1)
	}
}

// scanElements is scanMembers for an array.
func scanElements(b []byte, visit func(value []byte)) error {
	i := skipBlanks(b, 0)
	if i >= len(b) || b[i] != '[' {
		return errSyntax
	}
	i = skipBlanks(b, i+1)
	if i < len(b) && b[i] == ']' {
		return blankFrom(b, i+1)
	}
	for {
		start := skipBlanks(b, i)
		end, err := scanValue(b, start, 1)
		if err != nil {
			return err
		}
		visit(b[start:end])
		i = skipBlanks(b, end)
		switch {
		case i >= len(b):
			return errSyntax
		case b[i] == ']':
			return blankFrom(b, i+1)
		case b[i] != ',':
			return errSyntax
		}
		i++
	}
}

func blankFrom(b []byte, i int) error {
	if skipBlanks(b, i) != len(b) {
		return errSyntax
	}
	return nil
}

// scanValue returns the index behind the JSON value that begins at or after
// b[i]. The value may open maxDepth-outer levels. It does not recurse: one bit
// per open level says whether that level is an object.
func scanValue(b []byte, i, outer int) (int, error) {
	var objects [maxDepth/64 + 1]uint64
	depth := 0
	inObject := func() bool { return objects[depth/64]&(1<<(depth%64)) != 0 }
	var err error
	for {
		// A value begins here.
		i = skipBlanks(b, i)
		if i >= len(b) {
			return i, errSyntax
		}
		opened := false
		switch c := b[i]; c {
		case '"':
			i, err = scanString(b, i)
		case '{', '[':
			if depth++; depth+outer > maxDepth {
				return i, errDepth
			}
			closing := byte(']')
			objects[depth/64] &^= 1 << (depth % 64)
			if c == '{' {
				closing = '}'
				objects[depth/64] |= 1 << (depth % 64)
			}
			i = skipBlanks(b, i+1)
			opened = i >= len(b) || b[i] != closing // an empty one is closed below
		case 't':
			i, err = scanWord(b, i, "true")
		case 'f':
			i, err = scanWord(b, i, "false")
		case 'n':
			i, err = scanWord(b, i, "null")
		default:
			i, err = scanNumber(b, i)
		}
		if err != nil {
			return i, err
		}
		// It has ended, unless it is a container: close what closes here.
		for !opened {
			if depth == 0 {
				return i, nil
			}
			i = skipBlanks(b, i)
			if i >= len(b) {
				return i, errSyntax
			}
			if b[i] == ',' {
				i++
				break
			}
			if b[i] != ']' && b[i] != '}' || (b[i] == '}') != inObject() {
				return i, errSyntax
			}
			depth--
			i++
		}
		if inObject() {
			if i, err = scanName(b, skipBlanks(b, i)); err != nil {
				return i, err
			}
			if i, err = scanColon(b, i); err != nil {
				return i, err
			}
		}
	}
}

func scanName(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '"' {
		return i, errSyntax
	}
	return scanString(b, i)
}

func scanColon(b []byte, i int) (int, error) {
	i = skipBlanks(b, i)
	if i >= len(b) || b[i] != ':' {
		return i, errSyntax
	}
	return i + 1, nil
}

func skipBlanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

func scanWord(b []byte, i int, word string) (int, error) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, errSyntax
	}
	return i + len(word), nil
}

func scanNumber(b []byte, i int) (int, error) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	start := i
	if i = skipDigits(b, i); i == start || (b[start] == '0' && i > start+1) {
		return i, errSyntax
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		if i = skipDigits(b, start); i == start {
			return i, errSyntax
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		if i = skipDigits(b, i); i == start {
			return i, errSyntax
		}
	}
	return i, nil
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

// scanString returns the index behind the string whose opening quote is b[i].
func scanString(b []byte, i int) (int, error) {
	i++
	for i < len(b) {
		// Eight bytes at a time while none of them needs a look.
		for len(b)-i >= 8 && plain8(binary.LittleEndian.Uint64(b[i:])) {
			i += 8
		}
		if i >= len(b) {
			break
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			if len(b)-i < 2 {
				return i, errSyntax
			}
			switch b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if len(b)-i < 6 || !isHex(b[i+2]) || !isHex(b[i+3]) || !isHex(b[i+4]) || !isHex(b[i+5]) {
					return i, errSyntax
				}
				i += 6
			default:
				return i, errSyntax
			}
		case c < 0x20:
			return i, errSyntax
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && size == 1 {
				return i, errUTF8
			}
			i += size
		}
	}
	return i, errSyntax
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// plain8 reports whether none of the eight bytes of x is a quote, a backslash,
// a control character or outside ASCII. It may say false of a word that is
// plain, because a borrow can run into the next byte; never true of one that
// is not.
func plain8(x uint64) bool {
	const (
		ones = 0x0101010101010101
		high = 0x8080808080808080
	)
	quote := x ^ '"'*ones
	slash := x ^ '\\'*ones
	return (x|(x-0x20*ones)|((quote-ones)&^quote)|((slash-ones)&^slash))&high == 0
}
