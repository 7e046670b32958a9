package discovery

import (
	"slices"
	"strings"
)

// commonHead returns how many words all names begin with, leaving at least one
// word to each.
func commonHead(names [][]string) int {
	if len(names) < 2 {
		return 0
	}
	n := len(names[0]) - 1
	for _, words := range names[1:] {
		n = min(n, len(words)-1)
		for i := 0; i < n; i++ {
			if words[i] != names[0][i] {
				n = i
			}
		}
	}
	return max(n, 0)
}

// strip takes the server's words out of a name, as long as something that
// names an object stays.
func (x *index) strip(words []token) []token {
	if len(x.server) == 0 || len(words) < 2 {
		return words
	}
	objects := 0
	for _, w := range words {
		if !x.server[w.text] && !x.server[w.base] && w.lex.class == contentWord && (w.lex.verb == 0 || w.lex.noun) {
			objects++
		}
	}
	var out []token
	for i, w := range words {
		// At the head it is a namespace; elsewhere it may be the object.
		if (x.server[w.text] || x.server[w.base]) && (objects > 0 || i == 0 && len(words) == 2 && words[1].lex.verb != 0) {
			if out == nil {
				out = append(make([]token, 0, len(words)), words[:i]...)
			}
			continue
		}
		if out != nil {
			out = append(out, w)
		}
	}
	if out == nil {
		return words
	}
	if len(out) == 0 {
		return words
	}
	return out
}

// bare is the fold of a name without the words that carry no meaning in this
// catalog: the server's, the head that all tools share, and articles.
func (x *index) bare(words []string) string {
	var b strings.Builder
	rest := words[x.headed(words):]
	for i, w := range rest {
		if w == "a" || w == "an" || w == "the" {
			continue
		}
		if i == 0 && len(rest) > 1 && x.server[w] {
			continue
		}
		b.WriteString(w)
	}
	return b.String()
}

// headed returns how many words at the beginning are the head that all tools
// share, or the end of that head, leaving at least one word.
func (x *index) headed(words []string) int {
	for from := 0; from < len(x.common); from++ {
		n := len(x.common) - from
		if len(words) > n && slices.Equal(words[:n], x.common[from:]) {
			return n
		}
	}
	return 0
}

// actionsIn returns the ends of a name that begin with an action, behind words
// that are a namespace: "execute_javascript" in "QuickJS_execute_javascript".
func (l *lexicon) actionsIn(name string) []string {
	for i := 1; i+1 < len(name); i++ {
		if name[i] != '_' && name[i] != '-' {
			continue
		}
		head, rest := split(name[:i]), split(name[i+1:])
		if len(rest) < 2 {
			return nil
		}
		if w := head[len(head)-1:]; len(w) == 1 && l.acts(w[0]) {
			return nil
		}
		if l.acts(rest[0]) {
			return []string{name[i+1:]}
		}
	}
	return nil
}

// acts reports whether a word is an action and nothing else.
func (l *lexicon) acts(w string) bool {
	lx := l.words[w]
	return lx != nil && lx.verb != 0 && !lx.noun
}
