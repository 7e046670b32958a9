package registry

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// What is shorter says next to nothing: a line, without its name's words.
const (
	shortDescription = 40
	briefDescription = 80 // below this only its shortness is worth a remark
)

var (
	// saysWhen matches the words with which descriptions say when to use a tool.
	saysWhen = regexp.MustCompile(`(?i)\b(use|used|using|useful|when|whenever|call|before|after|if|instead|rather than|for (?:finding|getting|checking|looking|reading)|prefer|better|first|unless|only|do not|don't|not for)\b`)
	// saysResult matches those with which they say what comes back.
	saysResult = regexp.MustCompile(`(?i)\b(returns?|returned|results?|responds?|outputs?|yields?|gives?|answers?|shows?|lists?|contains?|includes?|including|produces?|reports?|as (?:json|csv|text|markdown))\b`)
)

func (l *linter) checkTexts(t *lintedTool) {
	l.checkInvisible(t)
	d := strings.TrimSpace(t.description)
	n := width(d)
	english := isEnglish(d)
	switch {
	case n == 0:
		l.found("description-missing", t, "/description", "there is no description")
	case slices.Equal(nameWords(d), t.words):
		l.found("description-short", t, "/description", "the description is the name")
	case n < shortDescription:
		l.found("description-short", t, "/description", "the description has %d characters", characters(d))
	case !english: // what it says cannot be told
	case n < briefDescription && !saysWhen.MatchString(d) && !saysResult.MatchString(d):
		l.found("description-short", t, "/description", "the description has %d characters and says neither when to use the tool nor what it returns", characters(d))
	default:
		if !saysWhen.MatchString(d) {
			l.found("description-no-when", t, "/description", "the description does not say when to use the tool")
		}
		if !saysResult.MatchString(d) && !t.doc.get("outputSchema").isObject() {
			l.found("description-no-result", t, "/description", "neither the description nor an output schema says what the tool returns")
		}
	}
	if lim := l.profile.Description; lim.Max > 0 && characters(t.description) > lim.Max {
		l.sourced(lim.Source, "description-long", t, "/description", "the description has %d characters; the client takes %d", characters(t.description), lim.Max)
	}
}

func characters(s string) int { return len([]rune(s)) }

// width is how much a text says, in characters of the Latin script: one of
// Chinese, Japanese or Korean says as much as three.
func width(s string) (n int) {
	for _, r := range s {
		n++
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			n += 2
		}
	}
	return n
}

// plainEnglish are words that hardly any English text of some length is without,
// and that other languages do not have.
var plainEnglish = regexp.MustCompile(`(?i)\b(the|of|and|to|for|with|is|are|from|by|this|that|it|its|or|be|on|as|at|which|when|where|use|returns?|not|all|can|only|your|you)\b`)

// isEnglish reports whether a text may be judged by its English words. Short
// ones are taken for English.
func isEnglish(s string) bool {
	letters, latin := 0, 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			letters++
			if unicode.Is(unicode.Latin, r) {
				latin++
			}
		}
	}
	if latin*2 < letters {
		return false
	}
	const enough = 8 // words
	return len(strings.Fields(s)) < enough || plainEnglish.MatchString(s)
}

// checkInvisible looks through every text of the definition.
func (l *linter) checkInvisible(t *lintedTool) {
	var visit func(d *document, pointer string) bool
	visit = func(d *document, pointer string) bool {
		if d.isString() {
			if r := invisible(d.string()); r != 0 {
				l.found("text-invisible", t, pointer, "there is an invisible character, U+%04X", r)
				return true
			}
		}
		for i, m := range d.members {
			below := fmt.Sprint(pointer, "/", i)
			if d.isObject() {
				below = pointer + "/" + escapePointer(d.keys[i])
				if r := invisible(d.keys[i]); r != 0 {
					l.found("text-invisible", t, pointer, "a name contains an invisible character, U+%04X", r)
					return true
				}
			}
			if visit(m, below) {
				return true
			}
		}
		return false
	}
	visit(t.doc, "")
}

func shortList(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

// maxComparisons bounds the pairs of descriptions that are compared.
const maxComparisons = 20_000_000

// A description is one tool's, as a set of words.
type description struct {
	tool  *lintedTool
	words []int // sorted, once each
	found bool
}

// checkDescriptions compares every description with the others. Each tool is
// reported once, with one that is listed before it.
func (l *linter) checkDescriptions(ctx context.Context) error {
	const enough = 6 // words; shorter texts are alike by chance, unless they are equal
	ids := map[string]int{}
	equal := map[string]*lintedTool{}
	var texts []*description
	for i := range l.tools {
		d := &description{tool: &l.tools[i]}
		text := strings.ToLower(strings.Join(strings.Fields(d.tool.description), " "))
		if text == "" {
			continue
		}
		if first := equal[text]; first != nil {
			l.found("description-near-duplicate", d.tool, "/description", "the same description as %q", first.name)
			continue
		}
		equal[text] = d.tool
		for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			id, ok := ids[w]
			if !ok {
				id = len(ids)
				ids[w] = id
			}
			d.words = append(d.words, id)
		}
		slices.Sort(d.words)
		d.words = slices.Compact(d.words)
		if len(d.words) >= enough {
			texts = append(texts, d)
		}
	}
	slices.SortStableFunc(texts, func(a, b *description) int { return cmp.Compare(len(a.words), len(b.words)) })
	compared := 0
	for i, a := range texts {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, b := range texts[i+1:] {
			if compared++; compared > maxComparisons {
				return nil
			}
			// Alike means that nine of ten words are shared.
			if len(a.words)*10 < len(b.words)*9 {
				break
			}
			first, second := a, b
			if second.tool.index < first.tool.index {
				first, second = second, first
			}
			if second.found {
				continue
			}
			if n := shared(a.words, b.words); n*10 >= (len(a.words)+len(b.words)-n)*9 &&
				!(first.namesWhatItIs(second, ids) && second.namesWhatItIs(first, ids)) {
				second.found = true
				l.found("description-near-duplicate", second.tool, "/description", "nearly the same description as %q", first.tool.name)
			}
		}
	}
	return nil
}

// namesWhatItIs reports whether a description has a word of its tool's name
// that the other does not have: then the two differ in what they are about, and
// say so.
func (d *description) namesWhatItIs(other *description, ids map[string]int) bool {
	return slices.ContainsFunc(d.tool.own, func(w string) bool {
		for _, form := range []string{w, w + "s", w + "es", w + "ed", w + "d"} {
			if id, ok := ids[form]; ok && has(d.words, id) && !has(other.words, id) {
				return true
			}
		}
		return false
	})
}

func has(sorted []int, id int) bool {
	_, ok := slices.BinarySearch(sorted, id)
	return ok
}

// shared counts what two sorted lists have in common.
func shared(a, b []int) (n int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			n++
			i++
			j++
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return n
}
