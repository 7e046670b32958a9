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
	penalty  float32 // for what was mended before the comparison
	repaired kind
	rows     [maxWords][]cell
	touched  [maxWords][]int32
	unknown  [maxWords]bool
	inDesc   [maxWords]string
	seen     []uint32 // entry: generation in which it was met
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
	if cap(q.seen) < len(x.entries) {
		q.seen = make([]uint32, len(x.entries))
		q.gen = 0
	}
	q.seen = q.seen[:cap(q.seen)]
	q.gen++
	q.met = q.met[:0]
	for i := range q.words {
		if cap(q.rows[i]) < len(x.words) {
			q.rows[i] = make([]cell, len(x.words))
		}
		q.rows[i] = q.rows[i][:cap(q.rows[i])]
		x.fillRow(q, i)
		q.inDesc[i] = descKey(q.words[i].base)
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
	*q = query{rows: q.rows, touched: q.touched, seen: q.seen, gen: q.gen, met: q.met}
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
					c += .15
				}
				set(id, c, kindSynonym)
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
	} else if !inCatalog && len(g.base) >= 4 && g.lex.verb == 0 && len(q.touched[i]) == 0 {
		x.truncated(g.base, set)
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
// or a shortened form of.
func (x *index) misspelled(q *query, i int, set func(int32, float32, kind)) {
	w := q.words[i].base
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
		if prefixed(w, v) || x.lex.opposites[[2]string{w, v}] {
			continue
		}
		set(id, costTypo*float32(best), kindTypo)
	}
	if len(found) == 0 && len(w) >= 4 {
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

// A match is what comparing a requested name with one tool gave.
type match struct {
	entry    int32
	cost     float32
	evidence bool // rests on the description alone for some word
	kinds    [kinds]bool
	extra    string // first word of the request that the tool lacks
	missing  string // first word of the tool that the request lacks
	swapped  [2]string
}

func (m *match) add(cost float32, k kind) {
	m.cost += cost
	m.kinds[k] = true
}

// align compares q with one tool.
func (x *index) align(q *query, ei int32) match {
	m := x.alignAs(q, ei, q.verb)
	if q.verb >= 0 && q.words[q.verb].lex.noun && len(q.words) > 0 {
		// The action may be a thing: "status", "comment_issue".
		if n := x.alignAs(q, ei, -1); n.cost < m.cost {
			m = n
		}
	}
	if q.penalty > 0 {
		m.add(q.penalty, q.repaired)
	}
	return m
}

func (x *index) alignAs(q *query, ei int32, verbAt int) match {
	e := &x.entries[ei]
	m := match{entry: ei}
	var usedG, usedT [maxWords]bool
	var pos [maxWords]int8
	for i := range pos {
		pos[i] = -1
	}
	tv := e.verb
	// The nouns, nearest pairs first.
	type pair struct {
		cost float32
		g, t int8
		k    kind
	}
	var pairs [24]pair
	np := 0
	for i := range q.words {
		if i == verbAt {
			continue
		}
		row := q.rows[i]
		if len(q.touched[i]) == 0 {
			continue
		}
		for j, id := range e.ids {
			if c := row[id]; c.cost > 0 && np < len(pairs) {
				if j == tv && !e.words[j].lex.noun {
					continue
				}
				pairs[np] = pair{c.cost - 1, int8(i), int8(j), c.kind}
				np++
			}
		}
	}
	for {
		best := -1
		for k := 0; k < np; k++ {
			p := &pairs[k]
			if usedG[p.g] || usedT[p.t] {
				continue
			}
			if best < 0 || p.cost < pairs[best].cost || p.cost == pairs[best].cost && absDiff(p.g, p.t) < absDiff(pairs[best].g, pairs[best].t) {
				best = k
			}
		}
		if best < 0 {
			break
		}
		p := pairs[best]
		usedG[p.g], usedT[p.t] = true, true
		pos[p.g] = p.t
		g, t := &q.words[p.g], &e.words[p.t]
		if p.cost > 0 {
			m.add(p.cost, p.k)
			if p.k == kindSynonym || p.k == kindTypo || m.swapped[0] == "" {
				m.swapped = [2]string{g.text, t.text}
			}
		}
		if int(p.t) == tv {
			tv = -1 // the tool's action is the thing asked for
			if g.plural {
				c := float32(.20)
				if !e.readOnly {
					c = .70 // "commits" are things; to commit is not
				}
				m.add(c, kindNumber)
			}
		} else if g.plural != t.plural && g.lex.class == contentWord {
			m.add(x.numberCost(q, e, g, int(p.t), verbAt), kindNumber)
		}
	}
	x.actions(q, e, &m, verbAt, tv)
	x.missing(q, e, &m, verbAt, tv, &usedT, &usedG)
	x.extra(q, e, &m, verbAt, &usedG, &pos)
	// Word order.
	last := int8(-1)
	if verbAt >= 0 && tv >= 0 {
		pos[verbAt] = int8(tv)
	}
	for i := range q.words {
		if pos[i] < 0 {
			continue
		}
		if pos[i] < last {
			m.add(costOrder, kindOrder)
			break
		}
		last = pos[i]
	}
	return m
}

// numberCost is what one for many costs, or many for one.
func (x *index) numberCost(q *query, e *entry, g *token, t, verbAt int) float32 {
	if t != e.head {
		return costNumber
	}
	if g.plural && e.ownID && e.readOnly && x.fetches(e) {
		return .70 // a tool that fetches one by its identifier lists none
	}
	if verbAt >= 0 && q.words[verbAt].text == "list" {
		return costNumber
	}
	if x.words[e.ids[t]].forms[x.action(e)] == 3 {
		return costSibling
	}
	return costNumber
}

// fetches reports whether a tool reads without listing or searching.
func (x *index) fetches(e *entry) bool {
	if e.verb < 0 {
		return true
	}
	v := x.lex.verbs[e.words[e.verb].lex.verb]
	return v.family != "read" || v.sub == "get" || v.sub == "content"
}

func absDiff(a, b int8) int8 {
	if a > b {
		return a - b
	}
	return b - a
}

// actions charges for a difference in the action.
func (x *index) actions(q *query, e *entry, m *match, gv, tv int) {
	switch {
	case gv < 0 && tv < 0:
	case gv < 0:
		v := x.lex.verbs[e.words[tv].lex.verb]
		switch {
		case !e.readOnly:
			m.add(blocked, kindVerb) // what changes something must be asked for
		case v.family == "read" || v.family == "check" || v.family == "take" || v.family == "count":
			m.add(.30, kindVerb)
		case e.head >= 0 && len(x.words[e.ids[e.head]].tools) == 1:
			m.add(.35, kindVerb) // the only tool for that thing
		default:
			m.add(.60, kindVerb)
		}
	case tv < 0:
		v := x.lex.verbs[q.words[gv].lex.verb]
		described := x.lex.verbs[e.descVerb].family
		switch {
		case e.several:
			m.add(.70, kindVerb)
		case e.readOnly && v.family == "read" && v.sub != "search":
			m.add(.12, kindVerb)
		case e.readOnly && v.family == "read":
			m.add(.35, kindVerb)
		case described != "" && described == v.family:
			m.add(.25, kindDescription)
			m.evidence = true
		default:
			m.add(blocked, kindVerb)
		}
	default:
		g, t := &q.words[gv], &e.words[tv]
		if g.text == t.text {
			return
		}
		c, k := x.verbCost(q, e, g, t)
		if len(q.words) == 1 && len(e.words) == 1 {
			c += .40 // nothing but the action is there to tell by
		}
		m.add(c, k)
		if c > 0 && m.swapped[0] == "" {
			m.swapped = [2]string{g.text, t.text}
		}
	}
}

func (x *index) verbCost(q *query, e *entry, g, t *token) (float32, kind) {
	gv, tv := x.lex.verbs[g.lex.verb], x.lex.verbs[t.lex.verb]
	if x.lex.opposites[[2]string{g.base, t.base}] {
		return 2 * blocked, kindVerb
	}
	if gv.family == tv.family {
		if gv.family != "read" {
			if gv.sub == tv.sub {
				return .08, kindVerb
			}
			return .12, kindVerb
		}
		return x.readCost(q, e, gv, tv), kindVerb
	}
	// "or" joins actions: create_or_update_file creates.
	if e.verbs > 0 {
		for j := range e.words {
			if j != e.verb && e.words[j].lex.verb != 0 && x.lex.verbs[e.words[j].lex.verb].family == gv.family {
				return .20, kindVerb
			}
		}
	}
	if !plainVerbs[tv.family] && !e.several {
		if d := x.lex.verbs[e.descVerb]; d.family == gv.family {
			if d.sub != gv.sub {
				return .60, kindDescription
			}
			return .30, kindDescription
		}
		if e.desc[descKey(g.base)] {
			return .30, kindDescription
		}
	}
	return blocked, kindVerb
}

// plainVerbs are families whose words say exactly what happens, so that a
// description cannot make them mean another.
var plainVerbs = setOf("read create update delete clear write enable disable start stop cancel")

// readCost tells apart to fetch one, to list many, to search and to read the
// content.
func (x *index) readCost(q *query, e *entry, g, t verb) float32 {
	many := q.plural
	if g.sub == t.sub {
		return .05
	}
	c := float32(.45)
	switch g.sub + ">" + t.sub {
	case "get>list":
		switch {
		case many:
			return .10
		case e.plural || e.verb == len(e.words)-1:
			c = .40
		default:
			c = .30
		}
	case "content>list":
		c = .30
		if e.plural && !many {
			c = .45
		}
	case "list>get", "list>content":
		c = .15
		if e.ownID {
			return .70
		}
	case "get>content", "content>get":
		c = .12
	case "search>list":
		switch {
		case g.word == "lookup":
			c = .40
		case many:
			c = .25
		default:
			c = .30
		}
	case "get>search":
		switch {
		case many && !e.needsQuery:
			c = .20
		case many:
			c = .35
		}
	case "list>search":
		c = .40
		if !e.needsQuery {
			c = .20
		}
	case "search>get":
		switch {
		case g.word == "lookup":
			c = .10
		case many:
			c = .50
		case e.ownID:
			c = .35
		default:
			c = .25
		}
	case "search>content":
		c = .60
	}
	// The catalog itself tells these actions apart for this thing.
	if e.head >= 0 && x.words[e.ids[e.head]].forms["read"+g.sub] != 0 {
		c += .15
	}
	return c
}

// missing charges for the tool's words that were not asked for.
func (x *index) missing(q *query, e *entry, m *match, gv, tv int, used, usedG *[maxWords]bool) {
	in := false // inside a phrase that is missing as a whole
	for j := range e.words {
		if used[j] || j == tv || j == e.verb {
			in = false
			continue
		}
		w := &e.words[j]
		lx := w.lex
		cost := float32(-1)
		switch {
		case lx.class == fillerWord:
			continue
		case lx.class == prepositionWord:
			// What follows decides.
			in = true
			if j+1 < len(e.words) && !used[j+1] {
				if w.text == "by" && e.params[e.words[j+1].base] {
					m.add(.05, kindDropped)
					// get_dashboard_by_uid is how to get a dashboard.
					used[j+1] = true
					if j+2 < len(e.words) && !used[j+2] {
						used[j+2] = true
					}
				}
				continue
			}
			m.add(.02, kindDropped)
			continue
		case lx.class == genericWord && e.telling&(1<<j) == 0 && (w.base == "information" || w.base == "detail" || w.base == "data"):
			cost = .15
		case lx.class == genericWord && e.telling&(1<<j) == 0 && j != e.head:
			cost = .30
		case j == e.head:
			cost = .90
			if share := float32(len(x.words[e.ids[j]].tools)) / float32(len(x.entries)); share >= .4 && len(x.entries) >= 4 {
				cost = .20
			}
		case lx.class == adjectiveWord:
			cost = .25
			if w.base == "all" {
				cost = .05
			}
			if w.base == "multiple" {
				cost = .45
				if q.plural {
					cost = .10
				}
			}
		case lx.same != 0 && lx.same == x.lex.words["multiple"].same:
			cost = .45
			if q.plural && e.readOnly {
				cost = .10
			}
		case e.words[j].lex.verb != 0 && !e.words[j].lex.noun && e.verbs > 0:
			// A further action that was not asked for.
			cost = .20
			if !e.readOnly {
				cost = blocked
			}
		default:
			cost = x.modifierCost(e, j)
			if in && cost < .30 {
				cost = .12
			}
			if !e.readOnly {
				cost += .20
			}
		}
		m.add(cost, kindDropped)
		if m.missing == "" {
			m.missing = w.text
		}
	}
}

// modifierCost is what leaving out a word that narrows the head costs: little
// where the catalog knows the head only with it, much where it tells tools
// apart.
func (x *index) modifierCost(e *entry, j int) float32 {
	if e.telling&(1<<j) != 0 {
		return .60
	}
	if e.head < 0 {
		return .45
	}
	same, other, bare := 0, 0, 0
	for _, o := range x.headMod[e.ids[e.head]] {
		if &x.entries[o.entry] == e {
			continue
		}
		has := false
		for _, id := range o.words {
			has = has || id == e.ids[j]
		}
		switch {
		case has:
			same++
		case len(o.words) == 0:
			bare++
		default:
			other++
		}
	}
	switch {
	case bare > 0:
		return .50
	case other > 0:
		return .40
	}
	return .25
}

// extra charges for requested words that the tool's name lacks.
func (x *index) extra(q *query, e *entry, m *match, gv int, used *[maxWords]bool, pos *[maxWords]int8) {
	for i := range q.words {
		if used[i] || i == gv {
			continue
		}
		w := &q.words[i]
		cost := float32(0)
		k := kindExtra
		switch {
		case w.lex.class == fillerWord:
			if w.base == "all" && !e.readOnly {
				cost = .70
			} else {
				cost = .02
			}
		case w.lex.class == prepositionWord:
			next := i + 1
			switch {
			case next >= len(q.words):
				cost = .10
			case w.text == "by" && !used[next] && e.params[q.words[next].base]:
				used[next] = true
				cost = .07
			case used[next] && w.text != "in" && w.text != "from" && w.text != "without" && w.text != "before" && w.text != "after":
				cost = .05
			case used[next]:
				cost = .20
			default:
				cost = .30
			}
		case w.lex.class == adjectiveWord:
			switch {
			case w.base == "new" && gv >= 0 && x.lex.verbs[q.words[gv].lex.verb].family == "create":
				cost = .05
			case w.base == "all" && e.readOnly:
				cost = .02
			case (w.base == "full" || w.base == "complete" || w.base == "entire" || w.base == "single") && e.readOnly:
				cost = .20
			default:
				cost = .50
			}
		case w.lex.class == genericWord && e.readOnly && (w.base == "detail" || w.base == "information" || w.base == "data" || w.base == "metadata"):
			cost = .15
			if e.verb >= 0 && e.words[e.verb].text == "read" {
				cost = .60 // to read a thing is not to read about it
			}
		case w.lex.class == genericWord:
			cost = .15
			if !e.readOnly {
				cost = .25
			}
		case w.lex.verb != 0 && !w.lex.noun && i != gv:
			cost = blocked
		default:
			cost, k = x.extraNoun(q, e, i, m)
			if k == kindDescription {
				m.evidence = true
			}
		}
		m.add(cost, k)
		if m.extra == "" && cost > .05 {
			m.extra = w.text
		}
	}
}

func (x *index) extraNoun(q *query, e *entry, i int, m *match) (float32, kind) {
	w := &q.words[i]
	switch {
	case x.server[w.base] || x.server[w.text]:
		return .10, kindExtra
	case e.desc[q.inDesc[i]] && e.single():
		return .18, kindDescription
	case e.desc[q.inDesc[i]]:
		c := float32(.35)
		if len(x.descs[q.inDesc[i]]) > 1 {
			c = .60
		}
		if i == q.head && e.head >= 0 {
			c = .70
		}
		return c, kindDescription
	case e.params[w.base]:
		if i == q.head {
			return .70, kindExtra
		}
		return .50, kindExtra
	}
	return blocked, kindExtra
}

// single reports whether a name is one word, which leaves its object to the
// description.
func (e *entry) single() bool { return len(e.words) == 1 }
