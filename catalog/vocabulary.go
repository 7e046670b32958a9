package catalog

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// An Expander relates the words of a question to words that an entry may use
// instead. It must be safe for concurrent use.
type Expander interface {
	// Expand appends to dst what it knows about question, the stems of the
	// question's words in order, and returns the extended slice.
	Expand(dst []Expansion, question []string) []Expansion
}

// An Expansion says that the words question[From:To] may appear in an entry as
// other words.
type Expansion struct {
	From, To int
	// Words are the stems (see [Stem]) of the other wording. An entry must
	// have all of them.
	Words []string
	// Weight says how close the other wording is, from 0 to 1. Zero means
	// middling.
	Weight float64
}

// Expanders combines several expanders: each adds what it knows. Nil ones are
// left out.
func Expanders(expanders ...Expander) Expander {
	var kept multiExpander
	for _, e := range expanders {
		if e != nil {
			kept = append(kept, e)
		}
	}
	return kept
}

type multiExpander []Expander

func (m multiExpander) Expand(dst []Expansion, question []string) []Expansion {
	for _, e := range m {
		dst = e.Expand(dst, question)
	}
	return dst
}

// A Vocabulary is an [Expander] made of groups of related words.
type Vocabulary struct {
	root phraseNode
}

// phraseNode is a node of the tree of phrases, one stem per edge.
type phraseNode struct {
	next    map[string]*phraseNode
	related []relation
}

const (
	maxPhraseWords   = 5
	maxVocabularyLen = 1 << 20
)

// ParseVocabulary reads groups of related words, one group a line:
//
//	# words of a group stand for each other
//	reviewer, approver, sign off
//	# words on the left of an arrow may be asked for those on the right
//	broke -> bankruptcy, insolvency
//
// Words and phrases of up to five words are separated by commas, and are
// matched on their stems. Empty lines and lines that begin with # are skipped.
// The error names the first line that has another form.
func ParseVocabulary(text string) (*Vocabulary, error) {
	if len(text) > maxVocabularyLen {
		return nil, fmt.Errorf("catalog: the vocabulary has %d bytes, more than %d", len(text), maxVocabularyLen)
	}
	v := &Vocabulary{}
	tok := &tokeniser{stems: map[string]string{}}
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		left, right, directed := strings.Cut(line, "->")
		from, err := phrases(tok, left)
		if err == nil && directed {
			var to [][]string
			if to, err = phrases(tok, right); err == nil {
				v.relate(from, to)
			}
		} else if err == nil {
			if len(from) < 2 {
				err = fmt.Errorf("a group needs two words")
			}
			v.relate(from, from)
		}
		if err != nil {
			return nil, fmt.Errorf("catalog: vocabulary line %d: %w", n+1, err)
		}
	}
	return v, nil
}

func phrases(tok *tokeniser, list string) ([][]string, error) {
	var out [][]string
	for _, phrase := range strings.Split(list, ",") {
		var words []string
		for _, t := range tok.appendTokens(nil, phrase, true) {
			if !t.compound {
				words = append(words, t.stem)
			}
		}
		if len(words) == 0 {
			return nil, fmt.Errorf("an empty word")
		}
		if len(words) > maxPhraseWords {
			return nil, fmt.Errorf("a phrase of more than %d words: %q", maxPhraseWords, strings.TrimSpace(phrase))
		}
		out = append(out, words)
	}
	return out, nil
}

// relate lets every phrase of from stand for every other phrase of to.
func (v *Vocabulary) relate(from, to [][]string) {
	weight := min(.8, max(.2, 1.8/float64(len(to)))) // words of a small group are closer
	for _, f := range from {
		n := &v.root
		for _, word := range f {
			if n.next == nil {
				n.next = map[string]*phraseNode{}
			}
			if n.next[word] == nil {
				n.next[word] = &phraseNode{}
			}
			n = n.next[word]
		}
		for _, t := range to {
			if !samePhrase(f, t) {
				n.add(t, weight)
			}
		}
	}
}

// A relation that two groups state is closer than either says.
func (n *phraseNode) add(phrase []string, weight float64) {
	for i := range n.related {
		if r := &n.related[i]; samePhrase(r.words, phrase) {
			r.weight = 1 - (1-r.weight)*(1-weight)
			return
		}
	}
	n.related = append(n.related, relation{phrase, weight})
}

type relation struct {
	words  []string
	weight float64
}

func samePhrase(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Expand implements [Expander]. Every phrase of the vocabulary that occurs in
// the question is expanded, the longer ones as well as the words in them.
func (v *Vocabulary) Expand(dst []Expansion, question []string) []Expansion {
	for i := range question {
		n := &v.root
		for j := i; j < len(question); j++ {
			if n = n.next[question[j]]; n == nil {
				break
			}
			for _, r := range n.related {
				dst = append(dst, Expansion{From: i, To: j + 1, Words: r.words, Weight: r.weight})
			}
		}
	}
	return dst
}

//go:embed general.txt
var generalText string

// General returns the built-in vocabulary: verbs and nouns of APIs and of
// everyday questions, in English. It is the default of [IndexOptions.Expander].
func General() *Vocabulary { return general() }

var general = sync.OnceValue(func() *Vocabulary {
	v, err := ParseVocabulary(generalText)
	if err != nil {
		panic(err) // a test parses it
	}
	return v
})

// NoExpansion is an [Expander] that relates nothing.
var NoExpansion Expander = multiExpander(nil)
