package stdioguard

import (
	"bytes"
	"unicode/utf8"
)

// appendClean appends the JSON text src so that every client can read it: on
// one line, valid UTF-8, no escape of half a surrogate pair. Raw JSON that a
// handler passes through has none of that checked by encoding/json. What is
// replaced becomes U+FFFD; src is not changed.
func appendClean(dst, src []byte) []byte {
	start := len(dst)
	if utf8.Valid(src) {
		dst = append(dst, src...)
	} else {
		dst = append(dst, bytes.ToValidUTF8(src, []byte("\ufffd"))...)
	}
	text := dst[start:]
	// Between two tokens a line break is a blank; inside a string it would
	// not be JSON.
	blank(text, '\n')
	blank(text, '\r')
	if bytes.Contains(text, []byte(`\ud`)) || bytes.Contains(text, []byte(`\uD`)) {
		replaceHalves(text)
	}
	return dst
}

func blank(b []byte, c byte) {
	for {
		i := bytes.IndexByte(b, c)
		if i < 0 {
			return
		}
		b[i] = ' '
		b = b[i+1:]
	}
}

// replaceHalves overwrites escapes of unpaired surrogates with \ufffd.
func replaceHalves(b []byte) {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 || len(b)-i < 2 {
			return
		}
		b = b[i:]
		switch {
		case isHalf(b, 'd', '8', 'b') && isHalf(b[6:], 'd', 'c', 'f'):
			b = b[12:]
		case isHalf(b, 'd', '8', 'f'):
			copy(b[2:6], "fffd")
			b = b[6:]
		default:
			b = b[2:]
		}
	}
}

// isHalf reports whether b begins with an escape of \uDlxx to \uDhxx.
func isHalf(b []byte, d, low, high byte) bool {
	const lower = 0x20
	return len(b) >= 6 && b[0] == '\\' && b[1] == 'u' && b[2]|lower == d &&
		low <= b[3]|lower && b[3]|lower <= high && isHex(b[3]) && isHex(b[4]) && isHex(b[5])
}
