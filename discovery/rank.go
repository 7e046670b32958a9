package discovery

import "slices"

// rank aligns the tools that q met. It returns the best by cost, how near any
// other tool comes, and the n that are most worth proposing, best first. The
// proposals are softer than a match: they never run anything.
//
// first are tools that an earlier step found and did not run.
func (x *index) rank(q *query, first []int32, n int) (top []rankedMatch, best match, second float32) {
	best, second = match{entry: -1, cost: 1e6}, 1e6
	reading := q.verb >= 0 && x.lex.verbs[q.words[q.verb].lex.verb].family == "read"
	var reader rankedMatch
	consider := func(c rankedMatch) {
		switch {
		case c.match.cost < best.cost, c.match.cost == best.cost && best.entry >= 0 && x.before(c.entry, best.entry):
			second = best.cost
			best = c.match
		case c.match.cost < second:
			second = c.match.cost
		}
		if c.score < minScore {
			return
		}
		if reading && x.entries[c.entry].readOnly && (reader.score == 0 || x.ahead(&c, &reader)) {
			reader = c
		}
		k := len(top)
		for k > 0 && x.ahead(&c, &top[k-1]) {
			k--
		}
		if k < n {
			top = slices.Insert(top, k, c)[:min(len(top)+1, n)]
		}
	}
	for _, i := range q.met {
		m := x.align(q, i)
		c := rankedMatch{i, x.score(q, &x.entries[i], &m), m}
		if slices.Contains(first, i) {
			c.score = 1
		}
		consider(c)
	}
	for _, i := range first {
		if q.seen[i] != q.gen {
			consider(rankedMatch{i, 1, match{entry: i, cost: blocked}})
		}
		if i != best.entry {
			second = 0 // what folds to the request is as near as can be
		}
	}
	if reader.score > 0 && len(top) == n && !slices.ContainsFunc(top, func(c rankedMatch) bool { return x.entries[c.entry].readOnly }) {
		top[n-1] = reader // who asks to read is shown something that reads
	}
	return top, best, second
}

// ahead orders proposals. Equal ones go by name, so that the order of the list
// does not matter.
func (x *index) ahead(a, b *rankedMatch) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	return x.before(a.entry, b.entry)
}

func (x *index) before(a, b int32) bool { return x.entries[a].tool.Name < x.entries[b].tool.Name }

// minScore is the likeness below which a tool is not worth proposing.
const minScore = .12

func (x *index) score(q *query, e *entry, m *match) float32 {
	var got, all float32
	nounless := true
	for i := range q.words {
		w := &q.words[i]
		if i == q.verb && len(q.words) > 1 && !w.lex.noun {
			continue
		}
		weight := float32(1.5)
		if id, ok := x.wordID[w.base]; ok {
			weight = .5 + x.words[id].idf*.5
		}
		switch w.lex.class {
		case fillerWord, prepositionWord:
			continue
		case genericWord, adjectiveWord:
			weight *= .4
		default:
			nounless = false
		}
		if i == q.head {
			weight *= 1.3
		}
		best := float32(0)
		for j, id := range e.ids {
			if c := q.rows[i][id]; c.cost > 0 {
				s := 1 - (c.cost-1)*1.2
				if j == e.head && i == q.head {
					s += .1
				}
				best = max(best, s)
			}
		}
		if best < .5 {
			switch {
			case e.desc[q.inDesc[i]]:
				best = max(best, .5)
				if e.object == w.base {
					best = max(best, .65)
				}
				if q.verb >= 0 && e.verb >= 0 && q.words[q.verb].text == e.words[e.verb].text && !e.readOnly {
					best = .75 // move_file moves directories, too
				}
			case !x.has(w.base) && describesAlike(e, q.alike[i]):
				best = max(best, .4)
			case e.params[w.base]:
				best = max(best, .3)
			}
		}
		got += best * weight
		all += weight
	}
	if all == 0 {
		all = 1
	}
	noun := got / all
	verb := float32(.5)
	if q.verb >= 0 {
		verb = x.verbLikeness(q, e)
	}
	var s float32
	if nounless {
		s = .3*noun + .7*verb
	} else if q.verb >= 0 && x.lex.verbs[q.words[q.verb].lex.verb].family != "read" {
		s = .55*noun + .45*verb // another action is the worse mistake
	} else {
		s = .68*noun + .32*verb
	}
	// Words of the tool's that were not asked for.
	unasked := 0
	for j, id := range e.ids {
		if j == e.verb || e.words[j].lex.class != contentWord {
			continue
		}
		hit := false
		for i := range q.words {
			hit = hit || q.rows[i][id].cost > 0
		}
		if !hit {
			unasked++
		}
	}
	s -= .04 * float32(unasked)
	if q.head >= 0 && !x.has(q.words[q.head].base) && e.head >= 0 && e.words[e.head].lex.any && verb > .5 {
		s += .12 // it serves things that have no tool of their own
	}
	// A match that is nearly certain outweighs the rest.
	if m.cost < 1 {
		s += .35 * (1 - m.cost)
	}
	return max(0, s/1.35)
}

func (x *index) verbLikeness(q *query, e *entry) float32 {
	g := x.lex.verbs[q.words[q.verb].lex.verb]
	described := x.lex.verbs[e.descVerb].family
	reading := g.family == "read"
	if s := stem(g.word); s != "" && !reading {
		// create_refund refunds.
		for j := range e.words {
			if j != e.verb && x.words[e.ids[j]].stem == s {
				return .8
			}
		}
	}
	if e.verb < 0 {
		switch {
		case reading && e.readOnly:
			return .8
		case described == g.family:
			return .7
		case reading:
			return .25
		}
		return .3
	}
	t := x.lex.verbs[e.words[e.verb].lex.verb]
	told := e.desc[descKey(q.words[q.verb].base)]
	switch {
	case g.word == t.word:
		return 1
	case x.lex.opposites[[2]string{g.word, t.word}]:
		return .05
	case g.family == t.family && g.sub == t.sub:
		return .95
	case reading && t.family == "read" && (g.sub == "search" || g.sub == "list") && t.sub == "get" && e.ownID:
		return .55
	case g.family == t.family:
		return .85
	case told && x.lex.verbs[e.descVerb].word == g.word:
		return .9
	case told:
		return .75
	case described == g.family:
		return .7
	case x.lex.related[[2]string{g.family, t.family}]:
		return .55
	case reading && e.readOnly:
		return .5
	case reading:
		return .1
	}
	return .2
}

// describesAlike reports whether a tool's description has one of the words.
func describesAlike(e *entry, words []string) bool {
	for _, w := range words {
		if e.desc[descKey(w)] {
			return true
		}
	}
	return false
}
