package catalog

import "math"

const (
	othersShare    = .5 // what further ways to match a word add to the best one
	coveredRelated = .8 // how far a related word covers a word of the question
	coveredAnyhow  = .2 // how far a word is covered that an entry has only in passing
	fullStrength   = .25

	sameIntent   = 1.2
	otherIntent  = .85
	answerIntent = 1.2 // an endpoint that can only read, if that is asked for
	readByChance = 1.1 // entries that read, if the question does not say what to do
)

// Confidence: see [Index.confidence].
const (
	scoreShare     = .3
	plentyOfScore  = 3
	directShare    = .1
	unmatchedShare = .3
)

// sums are what a search knows of one entry. They are zero between searches.
type sums struct {
	score   float64
	covered float64 // share of the question's rare words that the entry has
	firm    float64 // the same, less what it has only in passing
	direct  float64 // share that it has word for word

	// of the current word
	best, sum float64
	same      bool
}

// score adds up, for every entry that a word of the question matches, how well
// it fits.
func (x *Index) score(s *scratch) {
	var mass float64
	for i := range s.q.words {
		w := &s.q.words[i]
		counted := w.idf * w.weight
		if w.stop {
			counted = 0
		}
		mass += counted
		x.scoreWord(s, w, counted)
	}
	if mass == 0 {
		mass = 1
	}
	for _, n := range s.touched {
		e := &s.sums[n]
		e.covered /= mass
		e.firm /= mass
		e.direct /= mass
		e.score *= math.Sqrt(e.covered) * intentFactor(s.q.intent, x.intents[n])
	}
	if x.opts.Scorer != nil {
		x.rescore(s)
	}
}

// scoreWord adds what one word contributes. An entry that matches it in
// several ways counts the best and half the others.
func (x *Index) scoreWord(s *scratch, w *questionWord, counted float64) {
	s.word = s.word[:0]
	for _, a := range w.alts {
		weight := min(x.idf[a.term], w.idf) * a.weight
		for _, p := range x.postings[a.term] {
			if len(s.hidden) > 0 && s.hidden[p.entry] {
				continue
			}
			e := &s.sums[p.entry]
			if e.sum == 0 {
				s.word = append(s.word, p.entry)
			}
			v := weight * float64(p.saturated)
			e.sum += v
			e.best = max(e.best, v)
			e.same = e.same || a.by == BySame
		}
	}
	w.matched = len(s.word) > 0
	for _, n := range s.word {
		e := &s.sums[n]
		if e.score == 0 {
			s.touched = append(s.touched, n)
		}
		e.score += w.weight * (e.best + othersShare*(e.sum-e.best))
		covered := counted
		if e.same {
			e.direct += counted
		} else {
			covered *= coveredRelated
		}
		e.covered += covered
		e.firm += covered * (coveredAnyhow + (1-coveredAnyhow)*min(1, e.best/(w.idf*fullStrength)))
		e.best, e.sum, e.same = 0, 0, false
	}
}

func intentFactor(asked, offered intent) float64 {
	switch {
	case offered == intentNone, offered == intentAnswer && asked != intentRead:
		return 1
	case offered == intentAnswer:
		return answerIntent
	case asked == offered:
		return sameIntent
	case asked != intentNone:
		return otherIntent
	case offered == intentRead:
		return readByChance
	}
	return 1
}

func (x *Index) rescore(s *scratch) {
	scores := make([]float64, len(x.entries))
	for _, n := range s.touched {
		scores[n] = s.sums[n].score
	}
	x.opts.Scorer.Rescore(s.q.text, x.entries, scores)
	s.touched = s.touched[:0]
	for n, v := range scores {
		if !(v > 0) || math.IsInf(v, 0) || s.hides(int32(n)) {
			s.sums[n] = sums{} // what is not touched is zero for the next search
			continue
		}
		s.sums[n].score = v
		s.touched = append(s.touched, int32(n))
	}
}

// confidence judges a hit, from 0 to 1: mostly by how much of the question's
// rare words the entry covers, and by the score, by how much is covered word
// for word, and by how many words match nothing in the catalog.
func (x *Index) confidence(s *scratch, n int32) float64 {
	unmatched := 0
	for i := range s.q.words {
		if w := &s.q.words[i]; !w.matched && !w.pair {
			unmatched++
		}
	}
	e := &s.sums[n]
	c := e.firm + scoreShare*min(1, e.score/plentyOfScore) + directShare*e.direct -
		unmatchedShare*float64(unmatched)/float64(max(len(s.q.words), 1))
	return min(max(c/(1+scoreShare+directShare), 0), 1)
}
