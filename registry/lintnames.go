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

// ownWords returns the words of a tool's name without the server's name or
// "api" before them.
func ownWords(words []string, server string) []string {
	if len(words) > 2 && (words[0] == fold(server) || words[0] == "api") {
		return words[1:]
	}
	return words
}

var (
	uuidLike  = regexp.MustCompile(`(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}`)
	hexLike   = regexp.MustCompile(`(?i)^(?:[0-9]+[a-f]|[a-f]+[0-9])[0-9a-f]{6,}$`)
	digitLike = regexp.MustCompile(`^[0-9]{5,}$`)
	digitRuns = regexp.MustCompile(`[0-9]+`)
)

// numbered are words that stand before a number which is a name.
var numbered = map[string]bool{"iso": true, "iec": true, "rfc": true, "en": true, "din": true, "ieee": true, "ansi": true, "nist": true, "port": true}

// opaque returns the part of a name that is an identifier and not a word.
func opaque(name string) string {
	if m := uuidLike.FindString(name); m != "" {
		return m
	}
	before := ""
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		switch {
		case hexLike.MatchString(part) && !digitLike.MatchString(part),
			digitLike.MatchString(part) && !numbered[strings.ToLower(before)],
			len(part) >= 8 && len(digitRuns.FindAllString(part, 3)) == 3: // words have fewer
			return part
		}
		before = part
	}
	return ""
}

// hiddenRunes are characters that a reader does not see, and that are not in
// the classes that invisible knows.
var hiddenRunes = map[rune]bool{
	0x00AD: true,                                           // soft hyphen
	0x034F: true,                                           // grapheme joiner
	0x061C: true,                                           // Arabic letter mark
	0x115F: true, 0x1160: true, 0x3164: true, 0xFFA0: true, // Hangul fillers
	0x17B4: true, 0x17B5: true, // Khmer inherent vowels
	0x180E: true, // Mongolian vowel separator
	0x2800: true, // Braille blank
}

const (
	blackFlag = 0x1F3F4 // begins the flags of England, Scotland and Wales
	lastTag   = 0xE007F // ends them
	maxTags   = 7
)

// invisible returns the first character of s that a reader does not see and
// that is no part of a script or an emoji, or 0.
func invisible(s string) rune {
	if !strings.ContainsFunc(s, func(r rune) bool { return r > '~' || r < ' ' && r != '\n' && r != '\t' && r != '\r' }) {
		return 0 // as nearly always
	}
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		r, previous := runes[i], ' '
		if i > 0 {
			previous = runes[i-1]
		}
		switch {
		case r == blackFlag:
			for n := 1; n <= maxTags && i+n < len(runes) && isTag(runes[i+n]); n++ {
				if runes[i+n] == lastTag {
					i += n
					break
				}
			}
		case isJoiner(r): // emoji and several scripts need one, between two characters
			if previous < 0x250 || isJoiner(previous) {
				return r
			}
		case isSelector(r): // one says how the character before it looks
			if isSelector(previous) {
				return r
			}
		case r == '\n' || r == '\t' || r == '\r':
		case hiddenRunes[r], unicode.IsControl(r), isTag(r),
			r == 0x200B, r == 0x200E, r == 0x200F, r == 0x2028, r == 0x2029, r >= 0x202A && r <= 0x202E,
			r >= 0x2060 && r <= 0x206F, r == 0xFEFF, r >= 0xFFF9 && r <= 0xFFFB, r >= 0x1D173 && r <= 0x1D17A,
			r >= 0xE0100 && r <= 0xE0FFF:
			return r
		}
	}
	return 0
}

func isJoiner(r rune) bool   { return r == 0x200C || r == 0x200D }
func isSelector(r rune) bool { return r >= 0xFE00 && r <= 0xFE0F }
func isTag(r rune) bool      { return r >= 0xE0000 && r <= lastTag }

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

func (f FullName) length(server, tool string) int {
	return len(f.kept(server)) + len(tool) + f.Overhead
}

// kept is what the client keeps of a server's name.
func (f FullName) kept(server string) string {
	if f.Server > 0 && len(server) > f.Server {
		return server[:f.Server]
	}
	return server
}

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
		if key := nearKey(t.own); key != "" {
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
	full := strings.NewReplacer("SERVER", f.kept(l.server), "TOOL", t.name).Replace(f.Form)
	if len(full) <= e.First+e.Last {
		return
	}
	kept := full[:e.First] + "..." + full[len(full)-e.Last:]
	if e.Last == 0 {
		kept = full[:e.First]
	}
	if first := seen[kept]; first != nil {
		l.sourced(e.Source, "name-collision-ends", t, "/name", "the client keeps %s of this and of %q", kept, first.name)
		return
	}
	seen[kept] = t
}

// sameVerb maps verbs that models use for one another without a difference in
// effect to one of them.
var sameVerb = map[string]string{
	"get": "get", "fetch": "get", "retrieve": "get", "read": "get",
	"search": "search", "find": "search", "query": "search", "lookup": "search",
	"delete": "delete", "remove": "delete",
	"update": "update", "modify": "update", "edit": "update",
}

// directions are words around which the order means something: what is before
// and what is behind them cannot change places.
var directions = map[string]bool{
	"to": true, "from": true, "into": true, "onto": true, "as": true, "by": true, "for": true, "of": true, "in": true, "on": true, "at": true,
	"with": true, "without": true, "via": true, "than": true, "between": true, "over": true, "under": true, "per": true, "2": true, "vs": true,
}

// nearKey is equal for names that say the same: in another order, with a
// synonym, or in the plural. It is "" for names of one word.
func nearKey(words []string) string {
	if len(words) < 2 {
		return ""
	}
	key := make([]string, len(words))
	ordered := false
	for i, w := range words {
		edge := i == 0 || i == len(words)-1
		if v, ok := sameVerb[w]; ok && edge {
			w = v
		}
		// A verb in between has a subject before it and an object behind.
		ordered = ordered || directions[w] || !edge && crudVerbs[w] != ""
		key[i] = singular(w)
	}
	if !ordered {
		slices.Sort(key)
	}
	return strings.Join(key, " ")
}

// irregular are words whose singular the rules of singular miss.
var irregular = map[string]string{
	"caches": "cache", "aches": "ache", "niches": "niche", "statuses": "status", "viruses": "virus", "campuses": "campus",
	"bonuses": "bonus", "buses": "bus", "aliases": "alias", "news": "news", "ids": "id", "urls": "url",
	"people": "person", "children": "child", "indices": "index", "indexes": "index", "matrices": "matrix", "analyses": "analysis",
}

func singular(w string) string {
	if s, ok := irregular[w]; ok {
		return s
	}
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
