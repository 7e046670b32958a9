package report

import (
	"strings"
	"unicode"
)

// Printable keeps a server's text from driving the terminal, and on one line:
// neither control characters nor what is invisible or turns the direction is
// left in it.
func Printable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			return '\uFFFD'
		}
		return r
	}, text)
}
