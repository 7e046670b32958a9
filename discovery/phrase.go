package discovery

import (
	"strings"
)

// join makes tokens of words, and one of two that are a compound.
func (l *lexicon) join(words []string) []token {
	out := make([]token, 0, len(words))
	for i := 0; i < len(words); i++ {
		w := words[i]
		if i+1 < len(words) {
			next, plural := singular(words[i+1])
			if joined, ok := l.compounds[[2]string{w, next}]; ok {
				t := l.token(joined)
				t.plural = plural
				out = append(out, t)
				i++
				continue
			}
		}
		out = append(out, l.token(w))
	}
	return out
}

// A phrase is how the words of a name belong together.
type phrase struct {
	verb   int // position of the action, -1 if none
	more   int // further verbs joined to it
	head   int // position of the noun that the others narrow, -1 if none
	plural bool
}

// parse finds the action and the object of a name.
func (l *lexicon) parse(words []token) phrase {
	p := phrase{verb: -1, head: -1}
	clear := func(i int) bool { return words[i].lex.verb != 0 && !words[i].lex.noun && !words[i].plural }
	n := len(words)
	if n == 0 {
		return p
	}
	switch {
	case clear(0):
		p.verb = 0
	case n > 1 && (clear(n-1) || words[n-1].lex.verb != 0 && words[n-1].text != "" && actionAtEnd[words[n-1].text]):
		p.verb = n - 1
	default:
		for i := 1; i < n-1 && p.verb < 0; i++ {
			if clear(i) || words[i].lex.verb != 0 && actionAtEnd[words[i].text] && words[i+1].lex.class == prepositionWord {
				p.verb = i
			}
		}
		if p.verb < 0 && words[0].lex.verb != 0 && !words[0].plural {
			p.verb = 0 // a word that may be either is the action if it comes first
		}
	}
	for i := range words {
		if i != p.verb && clear(i) && i > 0 && words[i].lex.class == contentWord {
			p.more++
		}
	}
	l.head(words, &p)
	return p
}

// parseThing reads a name as one that names a thing alone.
func (l *lexicon) parseThing(words []token) phrase {
	p := phrase{verb: -1, head: -1}
	l.head(words, &p)
	return p
}

// head finds the noun that the other words narrow.
func (l *lexicon) head(words []token, p *phrase) {
	n := len(words)
	end := n
	for i := 1; i < n; i++ {
		if words[i].lex.class == prepositionWord && i != p.verb {
			if p.verb == n-1 && i > 0 || p.verb < i {
				end = i
				break
			}
		}
	}
	pick := func(generic bool) bool {
		for i := end - 1; i >= 0; i-- {
			c := words[i].lex.class
			if i == p.verb || c == fillerWord || c == prepositionWord || c == adjectiveWord || c == genericWord && !generic {
				continue
			}
			p.head, p.plural = i, words[i].plural
			return true
		}
		return false
	}
	if !pick(false) {
		pick(true)
	}
}

// actionAtEnd are words that are the action when they stand last:
// issue_search, cookie_list.
var actionAtEnd = setOf("list search query get set view upload export import copy filter count sort lookup checkout clone book merge fork reset transfer")

func setOf(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}
