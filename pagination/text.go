package pagination

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// escapeSize returns how many bytes of a JSON string's content, from i on,
// belong together: an escape, both escapes of a surrogate pair, or a rune.
func escapeSize(s string, i int) int {
	if s[i] != '\\' {
		_, size := utf8.DecodeRuneInString(s[i:])
		return size
	}
	if i+1 < len(s) && s[i+1] == 'u' {
		if isSurrogate(s, i, 0xd800) && isSurrogate(s, i+6, 0xdc00) {
			return 12
		}
		return min(6, len(s)-i)
	}
	return min(2, len(s)-i)
}

// isSurrogate reports whether an escape at i is of the 1024 surrogates from
// first on.
func isSurrogate(s string, i int, first uint64) bool {
	if i < 0 || i+6 > len(s) || s[i] != '\\' || s[i+1] != 'u' {
		return false
	}
	n, err := strconv.ParseUint(s[i+2:i+6], 16, 32)
	return err == nil && n&^0x3ff == first
}

// runeStart returns the largest index up to i at which a rune begins.
func runeStart(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return min(i, len(s))
}

// cutText returns a beginning of s that costs at most budget: it ends with a
// line, or if the last line is long with a rune, and not inside base64.
func cutText(s string, budget int) (string, cut) {
	spent, end := 0, 0
	for end < len(s) {
		_, size := utf8.DecodeRuneInString(s[end:])
		n := textCosts.cost(s[end:end+size], math.MaxInt-1)
		if spent+n > budget {
			break
		}
		spent += n
		end += size
	}
	if end < len(s) {
		end = textEnd(s, end)
	}
	return s[:end], cut{unit: unitText, shown: end, total: len(s), lost: len(s) - end}
}

// textEnd moves a cut at end, inside of s, back to a better place.
func textEnd(s string, end int) int {
	if from := runStart(s, end); end-from >= minBase64/2 && isBase64(s[from:min(len(s), from+4*minBase64)]) {
		return from
	}
	// A line that is shorter than an eighth of what is kept is no loss.
	if nl := strings.LastIndexByte(s[:end], '\n'); nl >= 0 && nl+1 >= end-end/8 {
		return nl + 1
	}
	// Text that holds JSON has surrogate pairs as escapes.
	for i := max(0, end-11); i < end; i++ {
		if s[i] == '\\' && (i == 0 || s[i-1] != '\\') {
			if size := escapeSize(s, i); size >= 6 && i+size > end {
				return i
			}
		}
	}
	return end
}

const minBase64 = 256 // characters

// runStart returns where the run of base64 characters begins that ends at end.
func runStart(s string, end int) int {
	for end > 0 && isBase64Char(s[end-1]) {
		end--
	}
	return end
}

func isBase64Char(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || strings.IndexByte("+/=-_", b) >= 0
}

// isBase64 reports whether s is long and, after the header of a data URL if it
// has one, nothing but base64: characters of that alphabet, of all kinds.
func isBase64(s string) bool {
	const header = ";base64,"
	if i := strings.Index(s[:min(len(s), 128)], header); i > 0 && strings.HasPrefix(s, "data:") {
		s = s[i+len(header):]
	}
	if len(s) < minBase64 {
		return false
	}
	var upper, lower, digit bool
	for i := range min(len(s), 4*minBase64) {
		b := s[i]
		if !isBase64Char(b) {
			return false
		}
		upper = upper || 'A' <= b && b <= 'Z'
		lower = lower || 'a' <= b && b <= 'z'
		digit = digit || '0' <= b && b <= '9'
	}
	return upper && lower && digit
}

// sizeOf describes a number of bytes.
func sizeOf(n int) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%d MB", n/1_000_000)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1_000_000)
	case n >= 10_000:
		return fmt.Sprintf("%d kB", n/1_000)
	}
	return grouped(n) + " bytes"
}
