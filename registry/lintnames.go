package registry

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// nameWords splits a name at separators and at changes of case, in lower case.
func nameWords(name string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1])) {
			flush()
		}
		word = append(word, r)
	}
	flush()
	return words
}

var (
	uuidLike  = regexp.MustCompile(`(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}`)
	hexLike   = regexp.MustCompile(`(?i)^(?:[0-9]+[a-f]|[a-f]+[0-9])[0-9a-f]{6,}$`)
	digitLike = regexp.MustCompile(`^[0-9]{5,}$`)
)

// opaque returns the part of a name that is an identifier and not a word.
func opaque(name string) string {
	if m := uuidLike.FindString(name); m != "" {
		return m
	}
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if hexLike.MatchString(part) || digitLike.MatchString(part) {
			return part
		}
	}
	return ""
}

// invisible returns the first character of s that a reader does not see and
// that is no part of a script or an emoji, or 0.
func invisible(s string) rune {
	previous := ' '
	for _, r := range s {
		switch {
		case r == 0x200C || r == 0x200D: // joiners: emoji and several scripts need them
			if previous < 0x250 {
				return r
			}
		case r == 0x00AD, r == 0x180E, r == 0x200B, r == 0x200E, r == 0x200F, r >= 0x202A && r <= 0x202E,
			r >= 0x2060 && r <= 0x2064, r >= 0x2066 && r <= 0x206F, r == 0xFEFF, r >= 0xE0000 && r <= 0xE0FFF,
			r < 0x20 && r != '\n' && r != '\t' && r != '\r', r == 0x7F:
			return r
		}
		previous = r
	}
	return 0
}

func (l *linter) checkName(t *lintedTool) {
	if p := l.profile.NamePattern; p.Expr != nil && !p.Expr.MatchString(t.name) {
		l.sourced(p.Source, "name-pattern", t, "/name", "the name %q does not match %s", t.name, p.Expr)
		if p.Warns {
			l.findings[len(l.findings)-1].Severity = Warning
		}
	}
	if f := l.profile.FullName; f.Max > 0 && l.profile.Ends.First == 0 {
		if n := f.length(l.server, t.name); n > f.Max {
			l.sourced(f.Source, "name-prefix-budget", t, "/name", "%s", f.message(l.server, t.name, n))
		}
	}
	if id := opaque(t.name); id != "" {
		l.found("name-opaque", t, "/name", "the name contains the identifier %q", id)
	}
}

func (f FullName) length(server, tool string) int { return len(server) + len(tool) + f.Overhead }

func (f FullName) message(server, tool string, n int) string {
	full := strings.NewReplacer("SERVER", server, "TOOL", tool).Replace(f.Form)
	return fmt.Sprintf("%s has %d characters, %d more than the client's %d; with the server name %q a tool's name has at most %d",
		full, n, n-f.Max, f.Max, server, max(f.Max-len(server)-f.Overhead, 0))
}

// checkNames compares every name with the others.
func (l *linter) checkNames() {
	exact := map[string]*lintedTool{}
	folded := map[string]*lintedTool{}
	near := map[string]*lintedTool{}
	ends := map[string]*lintedTool{}
	for i := range l.tools {
		t := &l.tools[i]
		if first := exact[t.name]; first != nil {
			l.found("name-duplicate", t, "/name", "tool %d has the same name", first.index+1)
			continue
		}
		exact[t.name] = t
		key := fold(t.name)
		if first := folded[key]; first != nil {
			l.found("name-folded-duplicate", t, "/name", "%q differs only in case or separators", first.name)
			continue
		}
		folded[key] = t
		if key := nearKey(l.ownWords(t)); key != "" {
			if first := near[key]; first != nil {
				l.found("name-near-duplicate", t, "/name", "%q differs only in a synonym, a plural or the order of words", first.name)
			} else {
				near[key] = t
			}
		}
		l.checkEnds(t, ends)
	}
}

// checkEnds finds names that a client which keeps the ends of long names
// takes for one.
func (l *linter) checkEnds(t *lintedTool, seen map[string]*lintedTool) {
	e, f := l.profile.Ends, l.profile.FullName
	if e.First == 0 || f.length(l.server, t.name) <= f.Max {
		return
	}
	full := strings.NewReplacer("SERVER", l.server, "TOOL", t.name).Replace(f.Form)
	if len(full) <= e.First+e.Last {
		return
	}
	kept := full[:e.First] + "..." + full[len(full)-e.Last:]
	if first := seen[kept]; first != nil {
		l.sourced(e.Source, "name-collision-ends", t, "/name", "the client keeps %s of this and of %q", kept, first.name)
		return
	}
	seen[kept] = t
}

// sameVerb maps verbs that models use for one another without a difference in
// effect to one of them.
var sameVerb = map[string]string{
	"fetch": "get", "retrieve": "get", "read": "get",
	"find": "search", "query": "search", "lookup": "search",
	"remove": "delete", "modify": "update", "edit": "update",
}

// nearKey is equal for names that say the same: in another order, with a
// synonym, or in the plural. It is "" for names of one word.
func nearKey(words []string) string {
	if len(words) < 2 {
		return ""
	}
	key := make([]string, len(words))
	for i, w := range words {
		if v, ok := sameVerb[w]; ok && i == 0 {
			w = v
		}
		key[i] = singular(w)
	}
	slices.Sort(key)
	return strings.Join(key, " ")
}

func singular(w string) string {
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case len(w) > 4 && (strings.HasSuffix(w, "sses") || strings.HasSuffix(w, "xes") || strings.HasSuffix(w, "ches") || strings.HasSuffix(w, "shes")):
		return w[:len(w)-2]
	case len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		return w[:len(w)-1]
	}
	return w
}
