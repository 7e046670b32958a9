package discovery

import (
	"slices"
)

// A match is what comparing a requested name with one tool gave.
type match struct {
	entry    int32
	cost     float32
	evidence bool // rests on the description alone for some word
	kinds    [kinds]bool
	swapped  [2]string
}

func (m *match) add(cost float32, k kind) {
	m.cost += cost
	m.kinds[k] = true
}

// A comparison is one alignment of a request with a tool.
type comparison struct {
	x      *index
	q      *query
	e      *entry
	m      match
	gv, tv int  // positions of the actions, -1 if a name has none or it is read as a thing
	head   int  // of the request, read like this
	given  bool // the tool's one word is read as what it gives
	plural bool
	usedG  [maxWords]bool
	usedT  [maxWords]bool
	pos    [maxWords]int8 // requested word: the tool's word
}

// align compares q with one tool.
func (x *index) align(q *query, ei int32) match {
	m := x.alignAs(q, ei, q.verb)
	if q.verb >= 0 && q.words[q.verb].lex.noun {
		// The action may be a thing: "status", "comment_on_issue".
		done := q.verb+1 < len(q.words) && (q.words[q.verb+1].text == "on" || q.words[q.verb+1].text == "to") && x.entries[ei].readOnly ||
			len(q.words) == 1 && x.acts[q.words[q.verb].text]
		if n := x.alignAs(q, ei, -1); n.cost < m.cost && !done {
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
	c := comparison{x: x, q: q, e: e, m: match{entry: ei}, gv: verbAt, tv: e.verb}
	c.head, c.plural = q.head, q.plural
	if verbAt < 0 {
		c.head, c.plural = q.thing.head, q.thing.plural
	}
	for i := range c.pos {
		c.pos[i] = -1
	}
	c.things()
	c.opposites()
	c.actions()
	if !c.object() && c.given {
		c.m.add(.90, kindDropped) // and nobody asked for that
	}
	c.missing()
	c.extra()
	c.order()
	return c.m
}

// things pairs the words of both names, nearest first.
func (c *comparison) things() {
	type pair struct {
		cost float32
		g, t int8
		k    kind
	}
	var pairs [24]pair
	np := 0
	for i := range c.q.words {
		if i == c.gv || len(c.q.touched[i]) == 0 {
			continue
		}
		row := c.q.rows[i]
		for j, id := range c.e.ids {
			if r := row[id]; r.cost > 0 && r.cost-1 < costFar && np < len(pairs) {
				if j == c.tv && !c.e.words[j].lex.noun {
					continue
				}
				pairs[np] = pair{r.cost - 1, int8(i), int8(j), r.kind}
				np++
			}
		}
	}
	for {
		best := -1
		for k := 0; k < np; k++ {
			p := &pairs[k]
			if c.usedG[p.g] || c.usedT[p.t] {
				continue
			}
			if best < 0 || p.cost < pairs[best].cost || p.cost == pairs[best].cost && absDiff(p.g, p.t) < absDiff(pairs[best].g, pairs[best].t) {
				best = k
			}
		}
		if best < 0 {
			return
		}
		p := pairs[best]
		c.usedG[p.g], c.usedT[p.t] = true, true
		c.pos[p.g] = p.t
		g, t := &c.q.words[p.g], &c.e.words[p.t]
		if p.cost > 0 {
			c.m.add(p.cost, p.k)
			c.swap(g, t)
		}
		switch {
		case int(p.t) == c.tv:
			c.tv = -1 // the tool's action is the thing asked for
			if g.plural {
				cost := float32(.20)
				if !c.e.readOnly {
					cost = .70 // "commits" are things; to commit is not
				}
				c.m.add(cost, kindNumber)
			}
		case g.plural != t.plural && (g.lex.class == contentWord || g.lex.class == genericWord && int(p.t) == c.e.head):
			c.m.add(c.number(g, int(p.t)), kindNumber)
		}
	}
}

// opposites keeps apart what one word turns round: to_usd, from_usd.
func (c *comparison) opposites() {
	for i := range c.q.words {
		g := &c.q.words[i]
		if c.usedG[i] {
			continue
		}
		for j := range c.e.words {
			if t := &c.e.words[j]; !c.usedT[j] && g.lex.pole && t.lex.pole && c.x.lex.opposites[[2]string{g.base, t.base}] ||
				!c.usedT[j] && prefixed(g.base, t.base) {
				c.m.add(blocked, kindVerb)
				return
			}
		}
	}
}

func (c *comparison) swap(g, t *token) {
	if c.m.swapped[0] == "" {
		c.m.swapped = [2]string{g.text, t.text}
	}
}

func absDiff(a, b int8) int8 {
	if a > b {
		return a - b
	}
	return b - a
}

// number is what one for many costs, or many for one.
func (c *comparison) number(g *token, t int) float32 {
	if t != c.e.head || c.e.words[t].lex.mass {
		return costNumber
	}
	forms := c.x.words[c.e.ids[t]].forms
	if (g.plural || g.lex.mass) && c.e.readOnly && c.fetches() {
		if c.e.ownID {
			return .70 // a tool that fetches one by its identifier lists none
		}
		if forms["readlist"] != 0 || forms[c.x.action(c.e)]&1 != 0 {
			return .45 // and there is one that lists
		}
	}
	if c.gv >= 0 && c.q.words[c.gv].text == "list" {
		return costNumber
	}
	if forms[c.x.action(c.e)] == 3 {
		return costSibling
	}
	if !g.plural && c.fetches() && c.gv >= 0 {
		return costStem // one was asked for, and many are given
	}
	return costNumber
}

// object takes a requested thing that is not in the tool's name for what the
// tool's description is about, where the name itself leaves it open.
func (c *comparison) object() (found bool) {
	e := c.e
	if e.object == "" {
		return false
	}
	open := (e.head < 0 || e.single()) && c.gv >= 0
	generic := e.head >= 0 && e.words[e.head].lex.class == genericWord && !c.usedT[e.head]
	for i := range c.q.words {
		w := &c.q.words[i]
		if c.usedG[i] || i == c.gv || w.lex.class != contentWord {
			continue
		}
		same := w.base == e.object
		if !same && !open && generic {
			// "Songs of a playlist" are what get_playlist_items gets.
			same = slices.Contains(c.q.alike[i], e.object)
		}
		switch {
		case !same:
		case open:
			c.usedG[i] = true
			c.m.add(.12, kindDescription)
			if w.plural != e.objects && !w.lex.mass && e.readOnly {
				c.m.add(.45, kindNumber)
			}
			c.m.evidence = c.m.evidence || len(c.q.words) > 2
			found = true
		case generic:
			c.usedG[i], c.usedT[e.head] = true, true
			c.m.add(.22, kindDescription)
			c.m.evidence = true
		case i == c.head && w.plural == e.objects && e.readOnly && e.head >= 0 && c.usedT[e.head] && c.pos[i] < 0:
			// get_entity gives the "State of one entity".
			c.usedG[i] = true
			c.m.add(.25, kindDescription)
			c.m.evidence = true
		}
	}
	return found
}

// order charges for another word order.
func (c *comparison) order() {
	if c.gv >= 0 && c.tv >= 0 {
		c.pos[c.gv] = int8(c.tv)
	}
	last := int8(-1)
	for i := range c.q.words {
		if c.pos[i] < 0 {
			continue
		}
		if c.pos[i] < last {
			c.m.add(costOrder, kindOrder)
			return
		}
		last = c.pos[i]
	}
}

// single reports whether a name is an action or one word, beside a namespace,
// and so leaves its object to the description.
func (e *entry) single() bool {
	n := len(e.words)
	if e.space {
		n--
	}
	return n == 1
}
