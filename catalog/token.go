package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxWordBytes     = 64   // a longer run of letters is not a word
	maxQuestionBytes = 2048 // what lies beyond is not read
	maxQuestionWords = 64
	maxFieldBytes    = 16 << 10 // of one field of one entry; what lies beyond is not indexed
)

// A token is one word as it was written.
type token struct {
	text     string // lower case
	stem     string
	compound bool // several parts written as one: "10-K" as 10k, paperId as paperid
	parts    int  // how many of the tokens before a compound are its parts
	capital  bool // a part that began with a capital: a name, perhaps
	pair     bool // two characters of a text without blanks: a word, or not
}

// A tokeniser cuts text into tokens, the same way for questions and entries.
// Words are runs of letters and digits; a dot, hyphen, underscore, slash,
// ampersand or a change of case inside a run divides it into parts and leaves
// the undivided form beside them. Stems are remembered, because entries repeat
// words. The zero value is ready; it is not for concurrent use.
type tokeniser struct {
	stems map[string]string
	parts []token
}

func (t *tokeniser) stem(word string) string {
	if t.stems == nil {
		return Stem(word)
	}
	s, ok := t.stems[word]
	if !ok {
		s = Stem(word)
		t.stems[word] = s
	}
	return s
}

// appendTokens appends the tokens of text to dst. keepSingles keeps parts of
// one character, which are noise in an entry but may be half of a code in a
// question ("10 k").
func (t *tokeniser) appendTokens(dst []token, text string, keepSingles bool) []token {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !wordRune(r) {
			i += n
			continue
		}
		if unspaced(r) {
			end := i
			for r, n := r, n; unspaced(r); r, n = utf8.DecodeRuneInString(text[end:]) {
				end += n
			}
			dst = t.appendPairs(dst, text[i:end])
			i = end
			continue
		}
		end := i
		for end < len(text) {
			r, n := utf8.DecodeRuneInString(text[end:])
			if wordRune(r) && !unspaced(r) {
				end += n
				continue
			}
			if !joinsParts(r) {
				break
			}
			for strings.HasPrefix(text[end+n:], "_") {
				n++ // mcp__server__tool is one name
			}
			if next, _ := utf8.DecodeRuneInString(text[end+n:]); !wordRune(next) || unspaced(next) {
				break
			}
			end += n
		}
		dst = t.appendRun(dst, text[i:end], keepSingles)
		i = end
	}
	return dst
}

// unspaced reports whether r is of a script that is written without blanks
// between words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// appendPairs appends the pairs of neighbours in a text without blanks, which
// stand for its words.
func (t *tokeniser) appendPairs(dst []token, run string) []token {
	r := []rune(run)
	if len(r) == 1 {
		return append(dst, token{text: run, stem: run})
	}
	for i := 0; i+1 < len(r); i++ {
		pair := string(r[i : i+2])
		dst = append(dst, token{text: pair, stem: pair, pair: true})
	}
	return dst
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

func joinsParts(r rune) bool {
	switch r {
	case '-', '_', '.', '/', '&', '\'', '’', '‑':
		return true
	}
	return false
}

// appendRun appends the parts of a run and, if there are several, its
// undivided form.
func (t *tokeniser) appendRun(dst []token, run string, keepSingles bool) []token {
	t.parts = t.parts[:0]
	apostrophe := false
	start := 0
	var prev, prevPrev rune
	flush := func(end int) {
		if end > start {
			first, _ := utf8.DecodeRuneInString(run[start:])
			t.parts = append(t.parts, token{text: strings.ToLower(run[start:end]), capital: unicode.IsUpper(first)})
		}
	}
	for i, r := range run {
		switch {
		case joinsParts(r):
			flush(i)
			start = i + utf8.RuneLen(r)
			apostrophe = apostrophe || r == '\'' || r == '’'
		case unicode.IsUpper(r) && unicode.IsLower(prev):
			flush(i)
			start = i
		case unicode.IsLower(r) && unicode.IsUpper(prev) && unicode.IsUpper(prevPrev):
			// HTMLFile: the last capital begins the next word.
			if at := i - utf8.RuneLen(prev); at > start {
				flush(at)
				start = at
			}
		}
		prevPrev, prev = prev, r
	}
	flush(len(run))
	if apostrophe && len(t.parts) > 1 {
		// Tails of possessives and contractions: company's, don't.
		switch t.parts[len(t.parts)-1].text {
		case "s", "t", "d", "m", "ll", "re", "ve":
			t.parts = t.parts[:len(t.parts)-1]
		}
	}
	whole := len(t.parts) > 1
	kept := 0
	for _, p := range t.parts {
		if len(p.text) > maxWordBytes || len(p.text) < 2 && !keepSingles && !wide(p.text) {
			continue
		}
		p.stem = t.stem(p.text)
		dst = append(dst, p)
		kept++
	}
	if whole {
		var b strings.Builder
		for _, p := range t.parts {
			b.WriteString(p.text)
		}
		if b.Len() <= maxWordBytes {
			text := b.String()
			dst = append(dst, token{text: text, stem: t.stem(text), compound: true, parts: kept})
		}
	}
	return dst
}

// wide reports whether a word is of a script in which one character is a word.
func wide(word string) bool { return len(word) >= 3 && utf8.RuneCountInString(word) == 1 }

// collapse returns the letters and digits of s in lower case: the form in
// which ids, titles and questions are compared for being the same.
func collapse(s string) string {
	return strings.Map(func(r rune) rune {
		if !wordRune(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// collapseID is collapse for what is going to be called: what stands between
// two digits separates them, for 7.7 is not 77.
func collapseID(s string) string {
	var b strings.Builder
	before, apart := ' ', false
	for _, r := range s {
		if !wordRune(r) {
			apart = true
			continue
		}
		if apart && unicode.IsDigit(before) && unicode.IsDigit(r) {
			b.WriteByte('.')
		}
		b.WriteRune(unicode.ToLower(r))
		before, apart = r, false
	}
	return b.String()
}

// hasDigit reports whether a word identifies something by a number: such words
// are neither stemmed nor expanded nor corrected.
func hasDigit(word string) bool { return strings.ContainsAny(word, "0123456789") }

func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}
