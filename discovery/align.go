package discovery

import (
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"
)

// A kind says what one difference between the requested name and a tool's is.
type kind uint8

const (
	kindNumber kind = iota
	kindSpelling
	kindOrder
	kindTypo
	kindVerb
	kindSynonym
	kindDropped
	kindExtra
	kindDescription
	kinds
)

// Costs of the differences. A tool is the requested one if the sum stays below
// a limit and no other tool comes near; blocked marks a difference that no
// other likeness makes good.
const (
	blocked = 1.5

	costSpelling = .05
	costNumber   = .05
	costSibling  = .30 // the catalog has a tool for one and a tool for many
	costStem     = .15
	costNear     = .25
	costFar      = .60 // worth proposing, no more
	costTypo     = .13 // each edit
	costCut      = .15
	costOrder    = .04

	limitRead   = .45
	limitWrite  = .36
	marginRead  = .20
	marginWrite = .30
)

// A query is a requested name, prepared for one index.
type query struct {
	words    []token
	verb     int
	more     int
	head     int
	plural   bool
	thing    phrase  // how the words belong together when none is an action
	penalty  float32 // for what was mended before the comparison
	repaired kind
	rows     [maxWords][]cell
	touched  [maxWords][]int32
	unknown  [maxWords]bool
	inDesc   [maxWords]string
	alike    [maxWords][]string // words that stand for or near the requested one
	weight   []float32          // entry: how much it shares with the request
	seen     []uint32           // entry: generation in which it was met
	gen      uint32
	met      []int32
}

type cell struct {
	cost float32 // 0 is no match; costs are stored plus 1
	kind kind
}

var queries = sync.Pool{New: func() any { return new(query) }}

// prepare fills q for words.
func (x *index) prepare(q *query, words []token) {
	q.words = words
	ph := x.lex.parse(words)
	q.verb, q.more, q.head, q.plural = ph.verb, ph.more, ph.head, ph.plural
	x.listAsVerb(q)
	q.thing = x.lex.parseThing(q.words)
	if cap(q.seen) < len(x.entries) {
		q.seen = make([]uint32, len(x.entries))
		q.weight = make([]float32, len(x.entries))
		q.gen = 0
	}
	q.seen, q.weight = q.seen[:cap(q.seen)], q.weight[:cap(q.weight)]
	q.gen++
	q.met = q.met[:0]
	for i := range q.words {
		if cap(q.rows[i]) < len(x.words) {
			q.rows[i] = make([]cell, len(x.words))
		}
		q.rows[i] = q.rows[i][:cap(q.rows[i])]
		x.fillRow(q, i)
		q.inDesc[i] = descKey(q.words[i].base)
		q.alike[i] = nil
		if q.words[i].lex.class == contentWord {
			q.alike[i] = x.lex.alike(q.words[i].lex)
		}
	}
}

// release makes q's rows empty again.
func (q *query) release() {
	for i := range q.words {
		for _, id := range q.touched[i] {
			q.rows[i][id] = cell{}
		}
		q.touched[i] = q.touched[i][:0]
		q.unknown[i] = false
	}
	*q = query{rows: q.rows, touched: q.touched, seen: q.seen, weight: q.weight, gen: q.gen, met: q.met}
	queries.Put(q)
}

// listAsVerb reads "get_issue_list" as "list_issues" and "do_search" as
// "search": the thing asked for is the action.
func (x *index) listAsVerb(q *query) {
	n := len(q.words)
	if n < 2 || q.verb != 0 {
		return
	}
	v := x.lex.verbs[q.words[0].lex.verb]
	last := q.words[n-1].text
	switch {
	case n > 2 && last == "list" && v.family == "read" && v.sub == "get":
		q.words = append([]token{x.lex.token("list")}, q.words[1:n-1]...)
		ph := x.lex.parse(q.words)
		q.verb, q.more, q.head, q.plural = 0, ph.more, ph.head, true
		if q.head >= 0 {
			q.words[q.head].plural = true
		}
	case last == "search" && (v.family == "run" || q.words[0].text == "do" || q.words[0].text == "perform"):
		q.words = append([]token{x.lex.token("search")}, q.words[1:n-1]...)
		ph := x.lex.parse(q.words)
		q.verb, q.more, q.head, q.plural = 0, ph.more, ph.head, ph.plural
	}
}

func (x *index) fillRow(q *query, i int) {
	g := &q.words[i]
	row := q.rows[i]
	set := func(id int32, cost float32, k kind) {
		if row[id].cost == 0 {
			q.touched[i] = append(q.touched[i], id)
			row[id] = cell{cost + 1, k}
		} else if cost+1 < row[id].cost {
			row[id] = cell{cost + 1, k}
		}
	}
	id, inCatalog := x.wordID[g.base]
	if !inCatalog && g.base != g.text {
		id, inCatalog = x.wordID[g.text]
	}
	if inCatalog {
		set(id, 0, kindNumber)
	}
	if s := g.lex.same; s != 0 {
		for _, id := range x.same[s] {
			if row[id].cost == 0 {
				set(id, costSpelling, kindSpelling)
			}
		}
	}
	for _, n := range g.lex.near {
		for _, id := range x.near[n] {
			if row[id].cost == 0 && !x.lex.opposites[[2]string{g.base, x.words[id].base}] {
				c := float32(costNear)
				if inCatalog {
					// This catalog uses both words, so they are two things.
					c = costFar
				}
				set(id, c, kindSynonym)
			}
		}
	}
	for _, groups := range [][]int32{g.lex.near, g.lex.far} {
		for _, n := range groups {
			for _, id := range x.far[n] {
				if row[id].cost == 0 {
					set(id, costFar, kindSynonym)
				}
			}
		}
	}
	if s := stem(g.base); s != "" {
		for _, id := range x.stems[s] {
			if row[id].cost == 0 && !x.lex.opposites[[2]string{g.base, x.words[id].base}] {
				set(id, costStem, kindSpelling)
			}
		}
	}
	for _, un := range []string{"un", "de", "dis"} {
		// To undo is no bridge, but worth proposing.
		if rest, ok := strings.CutPrefix(g.base, un); ok {
			if id, ok := x.wordID[rest]; ok && row[id].cost == 0 {
				set(id, .90, kindSynonym)
			}
		}
		if id, ok := x.wordID[un+g.base]; ok && row[id].cost == 0 {
			set(id, .90, kindSynonym)
		}
	}
	q.unknown[i] = !inCatalog && len(q.touched[i]) == 0 && !g.lex.known
	if q.unknown[i] {
		x.misspelled(q, i, set)
	}
}

// edits is how many typing errors a word of n letters may have.
func edits(n int) int {
	switch {
	case n <= 2:
		return 0
	case n <= 5:
		return 1
	}
	return 2
}

// misspelled finds the catalog's words that an unknown word is a typing error
// or a shortened form of. A word of the language is neither, but what is near
// it is proposed.
func (x *index) misspelled(q *query, i int, set func(int32, float32, kind)) {
	w := q.words[i].base
	wordItself := ordinaryEnglish(w)
	mask := letters(w)
	best := 3
	var found []int32
	for id := range x.words {
		v := &x.words[id]
		limit := edits(min(len(w), len(v.base)))
		if limit == 0 && len(w) == 3 && len(v.base) > 3 {
			limit = 1
		}
		d := len(w) - len(v.base)
		if d > limit || -d > limit || limit == 0 || popcount(mask^v.letters) > 2*limit {
			continue
		}
		n := distance(w, v.base)
		if len(v.base) == 3 && n == 1 && len(w) == 3 && !swapped(w, v.base) {
			continue // "get" and "set" are one edit apart
		}
		if n > limit || n > best || n == 0 {
			continue
		}
		if n < best {
			best, found = n, found[:0]
		}
		found = append(found, int32(id))
	}
	for _, id := range found {
		v := x.words[id].base
		if turned(w, v) || x.lex.opposites[[2]string{w, v}] {
			continue
		}
		if wordItself {
			set(id, .90, kindTypo) // worth proposing, no more
			continue
		}
		set(id, costTypo*float32(best), kindTypo)
	}
	if len(found) == 0 && !wordItself && len(w) >= 4 {
		x.truncated(w, set)
	}
}

// truncated finds words of which w is the beginning.
func (x *index) truncated(w string, set func(int32, float32, kind)) {
	for _, id := range x.firsts[w[0]] {
		v := x.words[id].base
		if len(v) > len(w) && v[:len(w)] == w && (len(w) >= 5 || len(v) <= len(w)+5) {
			set(id, costCut, kindTypo)
		}
	}
}

// prefixed reports whether the words differ by a prefix that turns the meaning
// round, as in lock and unlock.
func prefixed(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest := len(b) - len(a)
	if rest < 1 || rest > 3 || b[rest:] != a {
		return false
	}
	switch b[:rest] {
	case "un", "de", "dis", "re", "in", "non", "im":
		return true
	}
	return false
}

// distance is the edit distance, in which two swapped neighbours count once.
func distance(a, b string) int {
	n := levenshtein.ComputeDistance(a, b)
	if n == 2 && swapped(a, b) {
		return 1
	}
	return n
}

func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i+1 < len(a); i++ {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}

func popcount(m uint64) int {
	n := 0
	for ; m != 0; m &= m - 1 {
		n++
	}
	return n
}
