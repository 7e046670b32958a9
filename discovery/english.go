package discovery

import (
	_ "embed"
	"sort"
	"strings"
)

// english holds words of four letters and more, one a line, sorted, nouns in
// the singular. Most come from the Spell Checker Oriented Word Lists, sizes
// 10 to 50, whose notice is in english.LICENSE.
//
//go:embed english.txt
var english string

// ordinaryEnglish reports whether w is a word of the language. Such a word is
// no misspelling: an incident is not an accident.
func ordinaryEnglish(w string) bool {
	// The first line that begins at or behind i and is not before w.
	i := sort.Search(len(english), func(i int) bool { return lineFrom(i) >= w })
	return lineFrom(i) == w
}

// lineFrom is the first line of english that begins at or behind i.
func lineFrom(i int) string {
	if i > 0 && english[i-1] != '\n' {
		n := strings.IndexByte(english[i:], '\n')
		if n < 0 {
			return "\x7f"
		}
		i += n + 1
	}
	if i >= len(english) {
		return "\x7f" // behind every word
	}
	n := strings.IndexByte(english[i:], '\n')
	return english[i : i+n]
}

// turningHeads are beginnings of words that turn the rest into something else.
var turningHeads = strings.Fields("un de dis re in non im hypo hyper en ex intra inter intro extra on off pre post over under up down sub super macro micro mini maxi multi uni mono bi tri anti pro counter co mis out auto semi ante retro trans max min")

// turningTails are the two sides of a deed.
var turningTails = []string{"er", "or", "ee"}

// turned reports whether two words have a part in common and differ by a
// beginning or an end that changes what they mean: hypotension and
// hypertension, payer and payee, lock and unlock.
func turned(a, b string) bool {
	if prefixed(a, b) {
		return true
	}
	// Each head is tried on both words, so that "inflate" is "in" and "flate".
	for _, h := range turningHeads {
		rest, ok := strings.CutPrefix(a, h)
		if !ok || len(rest) < 3 {
			continue
		}
		if rest == b {
			return true
		}
		for _, g := range turningHeads {
			if other, ok := strings.CutPrefix(b, g); ok && g != h && other == rest {
				return true
			}
		}
	}
	for _, h := range turningHeads {
		if rest, ok := strings.CutPrefix(b, h); ok && len(rest) >= 3 && rest == a {
			return true
		}
	}
	for _, t := range turningTails {
		rest, ok := strings.CutSuffix(a, t)
		if !ok || len(rest) < 3 {
			continue
		}
		for _, u := range turningTails {
			if other, ok := strings.CutSuffix(b, u); ok && u != t && other == rest && (t == "ee" || u == "ee") {
				return true
			}
		}
	}
	return false
}
