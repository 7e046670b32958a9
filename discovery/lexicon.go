package discovery

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// A lexeme is what the vocabulary knows about one word in its base form.
type lexeme struct {
	same  int32   // group of spellings of one thing; 0 is none
	near  []int32 // groups of words that people exchange
	far   []int32 // groups whose words are worth proposing only
	verb  int32   // index into lexicon.verbs; 0 is no verb
	noun  bool    // the verb is as often a noun
	known bool    // means something by itself, so it is no misspelling
	class wordClass
	kin   []string // words that stand for it or are exchanged with it
	info  bool     // asks about a thing
	mass  bool     // the same in singular and plural
	any   bool     // names whatever a server holds
	turn  bool     // turns an action into another
	pole  bool     // has an opposite
}

type wordClass uint8

const (
	contentWord wordClass = iota
	fillerWord
	prepositionWord
	genericWord
	adjectiveWord
)

// A verb is a member of a family of actions.
type verb struct {
	word   string
	family string
	sub    string
}

// A lexicon is the vocabulary, ready for look-ups. It is not changed once it
// is built.
type lexicon struct {
	words     map[string]*lexeme
	verbs     []verb
	opposites map[[2]string]bool
	related   map[[2]string]bool // families, for suggestions only
	compounds map[[2]string]string
	commands  map[string]string
	actions   []action // in which a typing error is looked for
	groups    int32
	members   [][]string // words by group, for looking for them in descriptions
}

// An action is a verb that is no noun, for finding its misspellings.
type action struct {
	word    string
	letters uint64
}

// alike returns words that stand for x or are exchanged with it. What it
// returns is shared and not to be changed.
func (l *lexicon) alike(x *lexeme) []string {
	if x.near == nil && x.far == nil {
		if x.same > 0 {
			return l.members[x.same]
		}
		return nil
	}
	if x.kin == nil {
		return l.kin(x)
	}
	return x.kin
}

func (l *lexicon) kin(x *lexeme) []string {
	var out []string
	if x.same > 0 {
		out = append(out, l.members[x.same]...)
	}
	for _, groups := range [][]int32{x.near, x.far} {
		for _, g := range groups {
			out = append(out, l.members[g]...)
		}
	}
	return out
}

func (l *lexicon) member(group int32, word string) {
	for int(group) >= len(l.members) {
		l.members = append(l.members, nil)
	}
	l.members[group] = append(l.members[group], word)
}

var builtin = sync.OnceValue(buildLexicon)

func (l *lexicon) at(word string) *lexeme {
	x := l.words[word]
	if x == nil {
		x = &lexeme{}
		l.words[word] = x
	}
	return x
}

func buildLexicon() *lexicon {
	l := &lexicon{
		words: make(map[string]*lexeme, 6000), verbs: make([]verb, 1, 600),
		opposites: map[[2]string]bool{}, related: map[[2]string]bool{},
		compounds: map[[2]string]string{}, commands: commands,
	}
	for w := range strings.FieldsSeq(ordinary) {
		l.at(w).known = true
	}
	addVerb := func(word, family, sub string) {
		x := l.at(word)
		x.known = true
		if x.verb == 0 {
			x.verb = int32(len(l.verbs))
			l.verbs = append(l.verbs, verb{word, family, sub})
		}
	}
	for _, line := range verbFamilies {
		name, words, _ := strings.Cut(line, ":")
		family, sub, _ := strings.Cut(name, ".")
		for w := range wordsOf(words) {
			addVerb(w, family, sub)
		}
	}
	for w := range wordsOf(loneVerbs) {
		addVerb(w, w, "")
	}
	for w := range wordsOf(nounVerbs) {
		x := l.at(w)
		x.known, x.noun = true, true
	}
	for _, v := range l.verbs[1:] {
		// "Starred repositories" are some of the repositories.
		p := participle(v.word)
		if l.words[p] == nil {
			x := l.at(p)
			x.known, x.class = true, adjectiveWord
		}
	}
	for _, group := range sameThings {
		l.addSame(strings.Fields(group))
	}
	for _, group := range nearThings {
		l.groups++
		for w := range strings.FieldsSeq(group) {
			base, far := strings.CutSuffix(w, "_")
			x := l.at(base)
			x.known = true
			if far {
				x.far = append(x.far, l.groups)
			} else {
				x.near = append(x.near, l.groups)
			}
			l.member(l.groups, base)
		}
	}
	for pair := range strings.FieldsSeq(antonyms) {
		a, b, _ := strings.Cut(pair, "/")
		l.opposites[[2]string{a, b}], l.opposites[[2]string{b, a}] = true, true
		for _, w := range []string{a, b} {
			x := l.at(w)
			x.known, x.pole = true, true
		}
	}
	for pair := range strings.FieldsSeq(softRelated) {
		a, b, _ := strings.Cut(pair, "/")
		l.related[[2]string{a, b}], l.related[[2]string{b, a}] = true, true
	}
	for pair := range strings.FieldsSeq(compounds) {
		a, b, _ := strings.Cut(pair, "_")
		l.compounds[[2]string{a, b}] = a + b
		l.at(a + b).known = true
	}
	// A word that stands in two lists is what the later one says.
	for _, list := range []struct {
		class wordClass
		words string
	}{{adjectiveWord, adjectives}, {genericWord, generics}, {prepositionWord, prepositions}, {fillerWord, fillers}} {
		class, words := list.class, list.words
		for w := range strings.FieldsSeq(words) {
			x := l.at(w)
			x.known, x.class = true, class
		}
	}
	for _, v := range l.verbs[1:] {
		if !l.words[v.word].noun && (v.sub != "" || v.family != v.word || commonVerbs[v.word]) {
			l.actions = append(l.actions, action{v.word, letters(v.word)})
		}
	}
	for _, x := range l.words {
		x.kin = l.kin(x)
	}
	for w := range strings.FieldsSeq(infos) {
		l.at(w).info = true
	}
	for w := range strings.FieldsSeq(masses) {
		l.at(w).mass = true
	}
	for w := range strings.FieldsSeq(directions) {
		l.at(w).turn = true
	}
	for w := range strings.FieldsSeq(universals) {
		l.at(w).any = true
	}
	return l
}

// wordsOf yields the fields of s but those with a trailing underscore, which
// the lists keep to show what was considered.
func wordsOf(s string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for w := range strings.FieldsSeq(s) {
			if !strings.HasSuffix(w, "_") && !yield(w) {
				return
			}
		}
	}
}

// addSame makes the words spellings of one thing. A spelling of two words is
// written with an underscore.
func (l *lexicon) addSame(words []string) {
	l.groups++
	for _, w := range words {
		if strings.HasSuffix(w, "_") {
			continue
		}
		if a, b, two := strings.Cut(w, "_"); two {
			l.compounds[[2]string{a, b}] = a + b
			w = a + b
		}
		x := l.at(w)
		x.known, x.same = true, l.groups
		l.member(l.groups, w)
	}
}

// extended returns a copy of l with an operator's groups of words added: same
// mean one thing, near are exchanged.
func (l *lexicon) extended(same, near [][]string) *lexicon {
	if len(same)+len(near) == 0 {
		return l
	}
	c := *l
	c.members = slices.Clip(slices.Clone(l.members))
	c.words, c.compounds = make(map[string]*lexeme, len(l.words)), maps.Clone(l.compounds)
	for w, x := range l.words {
		y := *x
		c.words[w] = &y
	}
	for _, group := range same {
		var bases []string
		for _, w := range group {
			parts := split(w)
			if len(parts) > 0 && len(parts) <= 2 {
				bases = append(bases, strings.Join(parts, "_"))
			}
		}
		c.addSame(bases)
	}
	for _, group := range near {
		c.groups++
		for _, w := range group {
			if parts := split(w); len(parts) == 1 {
				base, _ := singular(parts[0])
				x := c.at(base)
				x.known = true
				x.near = append(slices.Clip(x.near), c.groups)
				c.member(c.groups, base)
			}
		}
	}
	for _, x := range c.words {
		x.kin = c.kin(x)
	}
	return &c
}
