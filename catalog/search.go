package catalog

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Confidence floors, found on questions that nothing answers.
const (
	defaultFloor     = .26
	defaultWeakFloor = .45
)

// fullFloor is the size of a catalog from which on the floor holds as it is.
const fullFloor = 60

// defaultLimit is how many hits a search returns if it is not told.
const defaultLimit = 5

// maxExact bounds the hits that are asked for by name and come outside the
// limit.
const maxExact = 5

// A Scorer changes the scores of a search, for those who have a model of
// meaning. It must be safe for concurrent use.
type Scorer interface {
	// Rescore changes scores in place: scores[i], which is not negative, is
	// that of entries[i]. Typical scores of good hits are 2 to 10. What is not
	// above zero afterwards is not returned.
	Rescore(question string, entries []Entry, scores []float64)
}

// A Result is the answer to a question.
type Result struct {
	// Hits are the entries that fit, best first. Those that the question names
	// exactly come first, and are not counted against the limit.
	Hits []Hit
	// Confidence, from 0 to 1, says how much of the question's meaning the
	// first hit covers. It is there also if it was too low for any hits.
	Confidence float64
	// Weak says that the confidence is low: the hits are neighbours of what
	// was asked for, perhaps not an answer.
	Weak bool
	// Unmatched are the words of the question that nothing in the catalog
	// matches, in lower case.
	Unmatched []string
}

// A Hit is an entry that fits a question.
type Hit struct {
	Entry *Entry
	Score float64
	// Exact says that the question names the entry, or a code that it is
	// about.
	Exact bool
	// Why lists what matched, in the order of the question.
	Why []Match
}

// A Match explains one word of a question.
type Match struct {
	Word    string  `json:"word"`    // as it was asked, in lower case
	Matched string  `json:"matched"` // the stem that the entry has
	By      By      `json:"by"`
	Field   Field   `json:"field"`  // where it counts most
	Weight  float64 `json:"weight"` // its share of the score, before the factors for coverage and intent
}

// By says how a word matched.
type By string

// Ways to match.
const (
	BySame     By = "same word"
	ByRelated  By = "related word"
	ByRoot     By = "same root"
	BySpelling By = "similar spelling"
	ByParts    By = "parts of the word"
)

// scratch is the memory of one search.
type scratch struct {
	q       question
	sums    []sums
	touched []int32 // entries with a score
	word    []int32 // entries that the current word matches
	hidden  []bool  // entries that this caller may not see; empty if none are
}

// hide notes which entries may not be seen.
func (s *scratch) hide(entries []Entry, allow func(*Entry) bool) {
	s.hidden = s.hidden[:0]
	if allow == nil {
		return
	}
	for i := range entries {
		s.hidden = append(s.hidden, !allow(&entries[i]))
	}
}

func (s *scratch) hides(n int32) bool { return len(s.hidden) > 0 && s.hidden[n] }

type scratchPool struct{ pool sync.Pool }

func (x *Index) borrow() *scratch {
	if s, ok := x.scratch.pool.Get().(*scratch); ok {
		return s
	}
	return &scratch{sums: make([]sums, len(x.entries))}
}

func (x *Index) giveBack(s *scratch) {
	for _, n := range s.touched {
		s.sums[n] = sums{}
	}
	s.touched = s.touched[:0]
	x.scratch.pool.Put(s)
}

// Entries returns the indexed entries in their order. They must not be
// changed.
func (x *Index) Entries() []Entry { return x.entries }

// Search returns the entries that fit a question, at most limit of them and
// those named exactly; 5 if limit is not positive. Of a question
// longer than 2 KiB or 64 words the rest is not read. The same question gets
// the same answer: ties are broken by id.
func (x *Index) Search(text string, limit int) *Result {
	return x.search(text, limit, nil)
}

// search is Search among the entries that allow, if it is not nil, accepts.
// Words that only others have match nothing.
func (x *Index) search(text string, limit int, allow func(*Entry) bool) *Result {
	if limit <= 0 {
		limit = defaultLimit
	}
	s := x.borrow()
	defer x.giveBack(s)
	s.hide(x.entries, allow)
	x.read(&s.q, text)
	x.score(s)
	r := &Result{}
	for i := range s.q.words {
		if w := &s.q.words[i]; !w.matched && !w.stop {
			r.Unmatched = append(r.Unmatched, w.text)
		}
	}
	named := x.named(s)
	coded := x.coded(s, named)
	first := append(named, coded...)
	hits := append(first, x.best(s, limit, first)...)
	if len(hits) == 0 {
		return r
	}
	switch {
	case len(named) > 0:
		r.Confidence = 1
	case len(coded) > 0:
		r.Confidence = max(x.confidence(s, hits[0]), x.floor())
	default:
		r.Confidence = x.confidence(s, hits[0])
	}
	if r.Confidence < x.floor() {
		return r
	}
	r.Weak = r.Confidence < x.opts.WeakFloor
	r.Hits = make([]Hit, len(hits))
	for i, n := range hits {
		r.Hits[i] = Hit{Entry: &x.entries[n], Score: s.sums[n].score, Exact: i < len(first), Why: x.explain(s, n)}
	}
	return r
}

// better orders entries, best first.
func (x *Index) better(s *scratch) func(a, b int32) int {
	return func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.sums[b].score, s.sums[a].score), strings.Compare(x.entries[a].ID, x.entries[b].ID))
	}
}

// floor returns the confidence under which nothing is returned. In a small
// catalog it is lower: frequencies say less there about what a word means, and
// a reader of a few weak hits is not misled for long.
func (x *Index) floor() float64 {
	return x.opts.Floor * min(1, float64(len(x.entries))/fullFloor)
}

// best returns the entries with the highest scores, without some.
func (x *Index) best(s *scratch, limit int, without []int32) []int32 {
	better := x.better(s)
	hits := make([]int32, 0, min(limit, len(s.touched))+1)
	for _, n := range s.touched {
		if slices.Contains(without, n) || len(hits) == limit && better(n, hits[limit-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(hits, n, better)
		hits = slices.Insert(hits, at, n)
		hits = hits[:min(len(hits), limit)]
	}
	return hits
}

// named returns the entries that the question asks for by name: the whole
// question is an id or a title, or an id that is no plain word stands in it.
func (x *Index) named(s *scratch) []int32 {
	q := &s.q
	var out []int32
	add := func(n int32) {
		if len(out) < maxExact && !slices.Contains(out, n) && !s.hides(n) {
			out = append(out, n)
		}
	}
	for _, n := range x.exact[q.collapsed] {
		add(n)
	}
	for i := range q.tokens {
		if t := &q.tokens[i]; t.compound {
			for _, n := range x.exact[t.text] {
				if x.collapsedIDs[n] == t.text {
					add(n)
				}
			}
		}
	}
	return out
}

// coded returns the entries about a code that stands in the question, such as
// 10-K or H-1B, best first. A code that many entries are about, or that an
// entry has only in passing, does not single one out.
func (x *Index) coded(s *scratch, named []int32) []int32 {
	var out []int32
	for i := range s.q.words {
		w := &s.q.words[i]
		if !isCode(w.text) || !w.direct() {
			continue
		}
		from := len(out)
		for _, p := range x.postings[w.alts[0].term] {
			if fields[p.field].about && !s.hides(p.entry) && !slices.Contains(named, p.entry) && !slices.Contains(out, p.entry) {
				out = append(out, p.entry)
			}
			if len(out)-from > maxExact {
				out = out[:from]
				break
			}
		}
	}
	slices.SortFunc(out, x.better(s))
	return out[:min(len(out), maxExact)]
}

// isCode reports whether a word has both letters and digits.
func isCode(word string) bool {
	return hasDigit(word) && strings.ContainsFunc(word, unicode.IsLetter)
}

// explain lists what of an entry each word of the question matched best.
func (x *Index) explain(s *scratch, entry int32) []Match {
	var why []Match
	for i := range s.q.words {
		w := &s.q.words[i]
		var m Match
		for _, a := range w.alts {
			list := x.postings[a.term]
			at, ok := slices.BinarySearchFunc(list, entry, func(p posting, n int32) int { return cmp.Compare(p.entry, n) })
			if !ok {
				continue
			}
			v := w.weight * min(x.idf[a.term], w.idf) * a.weight * float64(list[at].saturated)
			if v > m.Weight {
				m = Match{Word: w.text, Matched: x.stems[a.term], By: a.by, Field: fields[list[at].field].field, Weight: v}
			}
		}
		if m.Weight > 0 {
			why = append(why, m)
		}
	}
	return why
}
