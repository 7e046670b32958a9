package discovery

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// split cuts a name into lower-case words at separators and at changes of
// case: "getHTTPStatus" is get, http, status.
func split(name string) []string {
	words := make([]string, 0, 6)
	start := -1
	var prev rune
	emit := func(end int) {
		if start >= 0 && end > start {
			words = append(words, strings.ToLower(name[start:end]))
		}
		start = -1
	}
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			emit(i)
			prev = 0
			continue
		}
		if unicode.IsUpper(r) && start >= 0 {
			if unicode.IsLower(prev) || unicode.IsDigit(prev) {
				emit(i)
			} else if unicode.IsUpper(prev) {
				// An upper-case run ends where a lower-case letter follows: HTTPStatus.
				if next, _ := utf8.DecodeRuneInString(name[i+utf8.RuneLen(r):]); unicode.IsLower(next) {
					// "IDs" and "URLs" are one word.
					rest := name[i+utf8.RuneLen(r):]
					second, _ := utf8.DecodeRuneInString(rest[utf8.RuneLen(next):])
					if next != 's' || unicode.IsLower(second) {
						emit(i)
					}
				}
			}
		}
		if start < 0 {
			start = i
		}
		prev = r
	}
	emit(len(name))
	return words
}

// fold is the key under which names that differ in case and separators only
// are equal.
func fold(name string) string {
	clean := true
	for i := 0; i < len(name); i++ {
		if c := name[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9') {
			clean = false
			break
		}
	}
	if clean {
		return name
	}
	var b strings.Builder
	b.Grow(len(name))
	for _, r := range name {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// singular returns the base form of a noun and whether it was a plural.
func singular(w string) (string, bool) {
	if s, ok := irregular[w]; ok {
		return s, s != w
	}
	n := len(w)
	if n < 4 || w[n-1] != 's' {
		return w, false
	}
	switch {
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w, false
	case strings.HasSuffix(w, "ies"):
		if n > 4 {
			return w[:n-3] + "y", true
		}
		return w[:n-1], true
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "zes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		return w[:n-2], true
	}
	return w[:n-1], true
}

// stem cuts what forms of one word differ in, so that trace, tracing and
// traced are alike. It returns "" for words that are too short to tell.
func stem(w string) string {
	n := len(w)
	switch {
	case n >= 6 && strings.HasSuffix(w, "ing"):
		w = w[:n-3]
	case n >= 6 && strings.HasSuffix(w, "ed"):
		w = w[:n-2]
	case n >= 6 && strings.HasSuffix(w, "er"):
		return "" // a doer is not the deed: player, play
	case n < 4:
		return ""
	}
	w = strings.TrimSuffix(w, "e")
	if n = len(w); n > 3 && w[n-1] == w[n-2] && w[n-1] != 's' && w[n-1] != 'l' {
		w = w[:n-1]
	}
	if strings.HasSuffix(w, "at") && n > 5 {
		w = w[:n-2] // create, creating
	}
	if strings.HasSuffix(w, "ation") && len(w) > 8 {
		w = w[:len(w)-5]
	} else if strings.HasSuffix(w, "ion") && len(w) > 7 {
		w = w[:len(w)-3]
	}
	w = strings.TrimSuffix(w, "ment")
	if len(w) < 3 {
		return ""
	}
	return w
}

// participle is the regular form of a verb that makes an adjective of it.
func participle(v string) string {
	n := len(v)
	switch {
	case n < 3:
		return v + "ed"
	case v[n-1] == 'e':
		return v + "d"
	case v[n-1] == 'y' && !vowel(v[n-2]):
		return v[:n-1] + "ied"
	case n <= 4 && !vowel(v[n-1]) && vowel(v[n-2]) && !vowel(v[n-3]) && v[n-1] != 'w' && v[n-1] != 'x':
		return v + v[n-1:] + "ed"
	}
	return v + "ed"
}

func vowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }

// letters is a set of the letters of a word. Words at edit distance d differ
// in at most 2d of them.
func letters(w string) uint64 {
	var m uint64
	for i := 0; i < len(w); i++ {
		m |= 1 << (w[i] & 63)
	}
	return m
}
