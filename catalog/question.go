package catalog

import (
	"math"
	"slices"
)

// How much the ways to match a word count against the word itself.
const (
	softWeight    = .25 // a word that does no more than ask
	stopWeight    = .25 // a function word that stands for others: who, how many
	pairWeight    = .5  // the parts of a compound that is known undivided
	splitWeight   = .7
	rootWeight    = .8
	oneEditWeight = .8
	twoEditWeight = .6
	farthest      = .3 // a related word, by how close the expander says it is
	closest       = .7
	phraseFactor  = .7 // each word of a related phrase
	softFactor    = .3 // a related word that is only a verb of asking
	unsureWeight  = .5 // of an Expansion without a weight
	nameFactor    = .3 // what it means that a name matches nothing
	knownFactor   = 2  // and a word of the vocabulary
)

// An alternative is one way in which a word of a question can match.
type alternative struct {
	term   int32
	weight float64
	by     By
}

// A questionWord is a word of the question that carries meaning.
type questionWord struct {
	text     string
	stem     string
	position int // among the parts
	weight   float64
	idf      float64
	name     bool // looks like a name, a code or a number
	pair     bool // may be no word at all
	stop     bool // a function word, which matters only through what it stands for
	matched  bool // some entry has it; set by the scoring
	alts     []alternative
}

func (w *questionWord) direct() bool { return len(w.alts) > 0 && w.alts[0].by == BySame }

func (w *questionWord) add(term int32, weight float64, by By) {
	for i := range w.alts {
		if a := &w.alts[i]; a.term == term {
			a.weight = max(a.weight, weight)
			return
		}
	}
	w.alts = append(w.alts, alternative{term, weight, by})
}

// A question is a question taken apart.
type question struct {
	text      string
	collapsed string
	tokens    []token
	parts     []int    // the tokens that are not compounds
	stems     []string // of the parts
	paired    []bool   // parts of a compound that the catalog knows
	replaced  []bool   // parts for which a code stands
	words     []questionWord
	intent    intent
	related   []Expansion
}

// read takes a question apart and looks for what can match each word.
func (x *Index) read(q *question, text string) {
	text = clip(text, maxQuestionBytes)
	var tok tokeniser
	q.text, q.collapsed = text, collapse(text)
	q.tokens = tok.appendTokens(q.tokens[:0], text, true)
	q.parts, q.stems, q.words = q.parts[:0], q.stems[:0], q.words[:0]
	for i := range q.tokens {
		if q.tokens[i].compound {
			continue
		}
		if len(q.parts) == maxQuestionWords {
			q.tokens = q.tokens[:i]
			break
		}
		q.parts = append(q.parts, i)
		q.stems = append(q.stems, q.tokens[i].stem)
	}
	q.paired = append(q.paired[:0], make([]bool, len(q.parts))...)
	q.replaced = append(q.replaced[:0], make([]bool, len(q.parts))...)
	x.addCompounds(q, &tok)
	x.addParts(q)
	q.intent = q.askedIntent()
	x.addRelated(q)
	for i := range q.words {
		x.complete(q, &q.words[i])
	}
}

// addCompounds adds the words that are written with a hyphen or the like
// ("10-K"), and neighbours that the catalog writes as one ("10 k", "on call").
func (x *Index) addCompounds(q *question, tok *tokeniser) {
	position := 0
	for i := range q.tokens {
		t := &q.tokens[i]
		if !t.compound {
			position++
			continue
		}
		known, code := x.has(t.stem), hasDigit(t.text)
		if !known && !code {
			continue
		}
		x.addWord(q, t, position-1)
		for p := position - t.parts; p < position; p++ {
			part := q.tokens[q.parts[p]].text
			q.paired[p] = known
			q.replaced[p] = code && (len(part) < 3 || hasDigit(part))
		}
	}
	for p := 0; p+1 < len(q.parts); p++ {
		a, b := &q.tokens[q.parts[p]], &q.tokens[q.parts[p+1]]
		if stopWords[a.text] && stopWords[b.text] || len(a.text)+len(b.text) > maxWordBytes || len(a.text)+len(b.text) < 3 {
			continue
		}
		joined := a.text + b.text
		stem := tok.stem(joined)
		if !x.has(stem) {
			continue
		}
		x.addWord(q, &token{text: joined, stem: stem}, p)
		q.paired[p], q.paired[p+1] = true, true
		if len(a.text) == 1 || len(b.text) == 1 {
			q.replaced[p], q.replaced[p+1] = true, true
		}
	}
}

// addParts adds the plain words. Function words are left out unless there is
// nothing else.
func (x *Index) addParts(q *question) {
	content := func(t *token) bool { return !stopWords[t.text] && (len(t.text) > 1 || wide(t.text)) }
	meaning := slices.ContainsFunc(q.parts, func(i int) bool { return content(&q.tokens[i]) })
	for p, i := range q.parts {
		t := &q.tokens[i]
		if q.replaced[p] || meaning && !content(t) || len(t.text) < 2 && !wide(t.text) {
			continue
		}
		if w := x.addWord(q, t, p); w != nil && q.paired[p] {
			w.weight *= pairWeight
		}
	}
}

// addWord adds a word unless it is there, for a word asked twice is asked
// once.
func (x *Index) addWord(q *question, t *token, position int) *questionWord {
	for i := range q.words {
		if q.words[i].stem == t.stem {
			return nil
		}
	}
	w := q.newWord()
	w.text, w.stem, w.position = t.text, t.stem, position
	w.name, w.pair = t.capital && position > 0 || hasDigit(t.text) || t.pair, t.pair
	if softWords[t.stem] {
		w.weight = softWeight
	}
	if n, ok := x.terms[t.stem]; ok && len(x.postings[n]) > 0 {
		w.idf = x.idf[n]
		w.alts = append(w.alts, alternative{n, 1, BySame})
	}
	return w
}

// newWord appends a word that reuses the memory of the one that was there in
// an earlier question.
func (q *question) newWord() *questionWord {
	n := len(q.words)
	var alts []alternative
	if n < cap(q.words) {
		alts = q.words[:n+1][n].alts[:0]
	}
	q.words = append(q.words, questionWord{weight: 1, alts: alts})
	return &q.words[n]
}

// addRelated hangs the expander's words on the question's words: what stands
// for a phrase, on the last of its words that carries meaning.
func (x *Index) addRelated(q *question) {
	q.related = x.opts.Expander.Expand(q.related[:0], q.stems)
	q.related = slices.DeleteFunc(q.related, func(e Expansion) bool {
		return e.From < 0 || e.To > len(q.stems) || e.From >= e.To || len(e.Words) == 0
	})
	for _, e := range q.related {
		if slices.ContainsFunc(e.Words, func(s string) bool { return !x.has(s) }) {
			continue
		}
		w := q.carrier(e)
		if w == nil {
			continue
		}
		closeness := e.Weight
		if closeness <= 0 || closeness > 1 {
			closeness = unsureWeight
		}
		weight := farthest + (closest-farthest)*closeness
		if len(e.Words) > 1 {
			weight *= phraseFactor
		}
		for _, s := range e.Words {
			if softWords[s] {
				w.add(x.terms[s], weight*softFactor, ByRelated)
			} else {
				w.add(x.terms[s], weight, ByRelated)
			}
		}
	}
}

// carrier returns the word on which an expansion hangs, or nil for a code,
// which means itself.
func (q *question) carrier(e Expansion) *questionWord {
	var best *questionWord
	for i := range q.words {
		w := &q.words[i]
		if w.position >= e.From && w.position < e.To && !w.stop && !hasDigit(w.text) && (best == nil || w.position >= best.position) {
			best = w
		}
	}
	if best != nil {
		return best
	}
	last := &q.tokens[q.parts[e.To-1]]
	if !stopWords[last.text] {
		return nil
	}
	for i := range q.words {
		if w := &q.words[i]; w.stop && w.position == e.To-1 {
			return w
		}
	}
	w := q.newWord()
	w.text, w.stem, w.position, w.weight, w.stop = last.text, last.stem, e.To-1, stopWeight, true
	return w
}

// complete finishes a word for which the catalog itself has no match: words of
// its family, its halves, what it may be a misspelling of. It sets how rare
// the word is.
func (x *Index) complete(q *question, w *questionWord) {
	plain := !hasDigit(w.text) && !w.stop
	if plain && !w.name && !w.direct() {
		x.addFamily(w)
	}
	if plain && len(w.alts) == 0 {
		x.addHalves(w)
	}
	if plain && len(w.alts) == 0 && !w.name {
		x.addCorrections(w)
	}
	if len(w.alts) > 0 {
		if !w.direct() {
			for _, a := range w.alts {
				w.idf = max(w.idf, x.idf[a.term])
			}
		}
		return
	}
	w.idf = inverseFrequency(len(x.entries), 1) // as rare as a word can be
	if w.name || hasDigit(w.text) {
		w.idf *= nameFactor // the catalog need not know every company
	} else if slices.ContainsFunc(q.related, func(e Expansion) bool { return w.position >= e.From && w.position < e.To }) {
		w.idf *= knownFactor // a word of common use that the catalog does not know
	}
}

// addFamily adds words of the same root: those that the word begins, and those
// with which it shares most of its letters (subscribe, subscription).
func (x *Index) addFamily(w *questionWord) {
	const least, share = 6, .7
	if len(w.stem) < 4 {
		return
	}
	from, _ := slices.BinarySearch(x.sorted, w.stem[:4])
	for _, s := range x.sorted[from:] {
		if len(s) < 4 || s[:4] != w.stem[:4] {
			break
		}
		n, longer := commonPrefix(s, w.stem), max(len(s), len(w.stem))
		if n == len(w.stem) || n >= least && float64(n) >= share*float64(longer) {
			if x.has(s) && !hasDigit(s) {
				w.add(x.terms[s], rootWeight*math.Sqrt(float64(n)/float64(longer)), ByRoot)
			}
		}
	}
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// addHalves reads a word as two known ones written together.
func (x *Index) addHalves(w *questionWord) {
	for i := 3; i <= len(w.text)-3; i++ {
		a, b := Stem(w.text[:i]), Stem(w.text[i:])
		if x.has(a) && x.has(b) {
			w.add(x.terms[a], splitWeight, ByParts)
			w.add(x.terms[b], splitWeight, ByParts)
			return
		}
	}
}

func (x *Index) has(stem string) bool {
	n, ok := x.terms[stem]
	return ok && len(x.postings[n]) > 0
}

// askedIntent reads what a question wants done: a question word asks to read,
// and otherwise the first verb of intent decides.
func (q *question) askedIntent() intent {
	leading := true
	for n, i := range q.parts {
		t := &q.tokens[i]
		if leading && askingWords[t.text] {
			return intentRead
		}
		if leading && t.text == "how" && n+1 < len(q.parts) && !procedureWords[q.tokens[q.parts[n+1]].text] {
			return intentRead // how much, how warm
		}
		leading = leading && leadingWords[t.text]
		if in := intents[t.stem]; in != intentNone && !leading {
			return in
		}
	}
	return intentNone
}
