package discovery

import (
	"slices"
	"strings"
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
		if c.usedG[i] || !g.lex.pole {
			continue
		}
		for j := range c.e.words {
			if t := &c.e.words[j]; !c.usedT[j] && t.lex.pole && c.x.lex.opposites[[2]string{g.base, t.base}] {
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

// fetches reports whether the tool reads without listing or searching.
func (c *comparison) fetches() bool {
	if c.e.verb < 0 {
		return true
	}
	v := c.x.lex.verbs[c.e.words[c.e.verb].lex.verb]
	return v.family != "read" || v.sub == "get" || v.sub == "content"
}

func (c *comparison) family(i int, words []token) *verb {
	return &c.x.lex.verbs[words[i].lex.verb]
}

// actions charges for a difference in what is done.
func (c *comparison) actions() {
	e, m := c.e, &c.m
	if c.gv >= 0 && c.tv >= 0 && e.readOnly && e.single() && len(c.q.words) > 1 && e.words[c.tv].lex.noun && c.q.words[c.gv].text != e.words[c.tv].text {
		c.tv, c.given = -1, true // git_log gives a log
	}
	switch {
	case c.gv < 0 && c.tv < 0:
	case c.gv < 0:
		v := c.family(c.tv, e.words)
		switch {
		case c.q.verb >= 0 && e.head >= 0 && c.usedT[e.head] && c.pos[c.q.verb] == int8(e.head) && c.q.words[c.q.verb].base == e.words[e.head].base && (v.family == "create" || v.family == "send"):
			m.add(.10, kindVerb) // to comment is to add a comment
		case !e.readOnly:
			m.add(blocked, kindVerb) // what changes something must be asked for
		case v.family == "read":
			m.add(c.unsaid(v), kindVerb)
		case v.family == "check" || v.family == "take" || v.family == "count":
			m.add(.28, kindVerb)
		case e.head >= 0 && len(c.x.words[e.ids[e.head]].tools) == 1:
			m.add(.35, kindVerb) // the only tool for that thing
		default:
			m.add(.60, kindVerb)
		}
	case c.tv < 0:
		v := c.family(c.gv, c.q.words)
		switch {
		case e.several:
			m.add(.70, kindVerb)
		case e.readOnly && v.family == "read" && v.sub != "search":
			m.add(.08, kindVerb)
		case e.readOnly && v.family == "read":
			m.add(.35, kindVerb)
		case e.readOnly && c.q.words[c.gv].text == "check":
			m.add(.30, kindVerb)
		case e.descVerb != 0 && c.x.lex.verbs[e.descVerb].family == v.family:
			m.add(.25, kindDescription)
			m.evidence = true
		default:
			m.add(blocked, kindVerb)
		}
	default:
		g, t := &c.q.words[c.gv], &e.words[c.tv]
		if g.text == t.text {
			break
		}
		cost, k := c.action(g, t)
		if len(c.q.words) == 1 && len(e.words) == 1 {
			cost += .40 // nothing but the action is there to tell by
		}
		// The catalog has the requested action for this thing elsewhere.
		if e.head >= 0 && k == kindVerb && c.family(c.gv, c.q.words).family != "read" && c.x.words[e.ids[e.head]].forms["="+g.text] != 0 {
			cost += .15
		}
		m.add(cost, k)
		c.swap(g, t)
		if k == kindDescription {
			m.evidence = true
		}
	}
	if c.gv >= 0 && !e.readOnly && c.family(c.gv, c.q.words).family == "read" && (c.tv < 0 || c.family(c.tv, e.words).family != "read") {
		m.add(blocked, kindVerb) // who asks to read changes nothing
	}
	// "Add to a list" does not add a list.
	if c.towards(c.q.words, c.gv) != c.towards(e.words, e.verb) {
		m.add(.70, kindVerb)
	}
}

// unsaid is what it costs that a tool lists, searches or fetches, when only
// the thing was named.
func (c *comparison) unsaid(v *verb) float32 {
	switch {
	case v.sub == "search":
		return .38
	case v.sub == "list" && !c.plural:
		return .36
	case v.sub != "list" && c.plural && !c.e.plural:
		return .40
	}
	return .28
}

// towards reports whether an action is followed by where to or from, instead
// of by what.
func (c *comparison) towards(words []token, at int) bool {
	if at < 0 || at+1 >= len(words) {
		return false
	}
	switch words[at+1].text {
	case "to", "from", "into", "onto":
		return c.x.lex.verbs[words[at].lex.verb].family != "read"
	}
	return false
}

func (c *comparison) action(g, t *token) (float32, kind) {
	lex := c.x.lex
	gv, tv := lex.verbs[g.lex.verb], lex.verbs[t.lex.verb]
	if lex.opposites[[2]string{g.base, t.base}] {
		return 2 * blocked, kindVerb
	}
	if gv.family == tv.family {
		switch {
		case gv.family == "read":
			return c.reading(gv, tv), kindVerb
		case gv.sub == tv.sub:
			return .08, kindVerb
		}
		return .12, kindVerb
	}
	// "or" joins actions: create_or_update_file creates.
	if c.e.verbs > 0 {
		for j := range c.e.words {
			if j != c.e.verb && j > 0 && (c.e.words[j-1].text == "or" || c.e.words[j-1].text == "and") && c.e.words[j].lex.verb != 0 && lex.verbs[c.e.words[j].lex.verb].family == gv.family {
				return .20, kindVerb
			}
		}
	}
	if g.text == "check" && c.e.readOnly && tv.family == "read" && c.fetches() {
		return .30, kindVerb // to check a balance is to look at it
	}
	if !plainVerbs[tv.family] && !c.e.several && (c.e.readOnly || !undoing(t.base) && lex.verbs[c.e.descVerb].word == gv.word) {
		if d := lex.verbs[c.e.descVerb]; d.family == gv.family {
			if d.sub != gv.sub {
				return .70, kindDescription
			}
			return .30, kindDescription
		}
		if c.e.desc[descKey(g.base)] {
			return .30, kindDescription
		}
	}
	return blocked, kindVerb
}

// undoing reports whether a verb is made of another that it turns round or
// repeats, which descriptions then mention: to unmute ends a silence.
func undoing(v string) bool {
	for _, p := range []string{"un", "de", "dis", "re"} {
		if strings.HasPrefix(v, p) && len(v) > len(p)+2 {
			return true
		}
	}
	return false
}

// plainVerbs are families whose words say exactly what happens, so that a
// description cannot make them mean another.
var plainVerbs = setOf("read create update delete clear write enable disable start stop cancel")

// reading tells apart to fetch one, to list many, to search and to read the
// content.
func (c *comparison) reading(g, t verb) float32 {
	if g.sub == t.sub {
		return .05
	}
	many, e := c.plural, c.e
	cost := float32(.45)
	switch g.sub + ">" + t.sub {
	case "get>list":
		switch {
		case many:
			return .10
		case e.plural || e.verb == len(e.words)-1:
			cost = .40
		default:
			cost = .30
		}
	case "content>list":
		cost = .30
		if e.plural && !many {
			cost = .55
		}
	case "list>content":
		cost = .55
	case "list>get":
		cost = .15
		if e.plural {
			cost = .08
		}
		if e.ownID {
			return .70
		}
	case "get>content", "content>get":
		if c.content() {
			return .03
		}
		return .12
	case "search>list":
		cost = .30
		switch {
		case g.word == "query":
			cost = .50
		case many:
			cost = .25
		}
	case "get>search":
		switch {
		case e.needsQuery, !e.plural && e.required > 0:
			cost = .50
		case many:
			cost = .30
		}
	case "list>search":
		cost = .50
		if !e.needsQuery && (e.plural || e.required == 0) {
			cost = .25
		}
	case "search>get":
		switch {
		case many || g.word == "search" || g.word == "query":
			cost = .60
		case e.ownID:
			cost = .35
		default:
			cost = .25
		}
	case "search>content":
		cost = .60
	case "any>get":
		cost = .10
	case "any>search":
		cost = .10
		if !many {
			cost = .35
		}
	}
	if e.several {
		cost += .45
	}
	// The catalog itself tells these actions apart for this thing.
	if e.head >= 0 && c.x.words[e.ids[e.head]].forms["read"+g.sub] != 0 {
		cost += .15
	}
	return cost
}

// content reports whether one name reads and the other fetches the content.
func (c *comparison) content() bool {
	for _, words := range [][]token{c.q.words, c.e.words} {
		for i := range words {
			if words[i].base == "content" {
				return true
			}
		}
	}
	return false
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

// missing charges for the tool's words that were not asked for.
func (c *comparison) missing() {
	e, m := c.e, &c.m
	in := false // inside a phrase that is missing as a whole
	by := false // which says by what means
	for j := range e.words {
		if c.usedT[j] || j == c.tv || j == e.verb {
			in, by = false, false
			continue
		}
		w := &e.words[j]
		lx := w.lex
		telling := e.telling&(1<<j) != 0
		var cost float32
		switch {
		case lx.class == fillerWord:
			continue
		case lx.class == prepositionWord:
			in, by = true, w.text == "with" || w.text == "using" || w.text == "via"
			if j+1 >= len(e.words) || c.usedT[j+1] {
				m.add(.02, kindDropped)
				continue
			}
			next := e.words[j+1]
			scope := e.needs[c.x.lex.canonical(next.text)] || w.text == "by" && e.params[next.base]
			if !scope || !e.readOnly {
				m.add(.02, kindDropped)
				continue
			}
			// get_dashboard_by_uid is how to get a dashboard, unless there is
			// another way.
			cost = .05
			switch {
			case c.x.shorter(e, j):
				cost = .40
			case !e.needs[c.x.lex.canonical(next.text)]:
				cost = .20
			}
			for k := j + 1; k < len(e.words) && e.words[k].lex.class != prepositionWord; k++ {
				c.usedT[k] = true
			}
		case lx.info && !telling && (w.base == "metadata" || w.base == "meta" || w.base == "data"):
			cost = .50 // what describes a thing is another thing
		case lx.info && !telling:
			cost = .12
			if c.gv >= 0 && c.tv >= 0 {
				if v := c.family(c.gv, c.q.words); v.family == "read" && v.sub != "get" {
					cost = .50 // to list or to read things is not to ask about them
				}
			}
		case lx.class == genericWord && w.base == "content" && c.gv >= 0 && c.family(c.gv, c.q.words).sub == "content":
			cost = .02
		case lx.class == genericWord && !telling && j != e.head:
			cost = .30
			if !e.readOnly || w.base == "item" || w.base == "entry" {
				cost = .60 // an invoice item is no invoice
			}
		case j == 0 && e.space && !telling:
			cost = .15
		case j == e.head:
			cost = c.headless(j)
		case telling || lx.turn:
			cost = .60
		case lx.class == adjectiveWord:
			cost = max(.45, c.x.modifierCost(e, j)+.20)
			switch w.base {
			case "all":
				cost = .05
			case "current":
				cost = .20
			case "multiple":
				if c.plural {
					cost = .10
				}
			}
		case lx.same != 0 && lx.same == c.x.lex.words["multiple"].same:
			cost = .45
			if c.plural && e.readOnly {
				cost = .10
			}
		case lx.verb != 0 && !lx.noun && e.verbs > 0:
			// A further action that was not asked for.
			cost = .20
			if !e.readOnly {
				cost = blocked
			}
		default:
			cost = c.x.modifierCost(e, j)
			switch {
			case cost < .50 && e.readOnly && e.needs[c.x.lex.canonical(w.text)]:
				cost = .12 // a required parameter says of what
			case in && cost < .30, by && cost < .50:
				cost = .12
			}
			if !e.readOnly {
				cost += .20
			}
		}
		m.add(cost, kindDropped)
	}
}

// headless is what leaving out the thing itself costs.
func (c *comparison) headless(j int) float32 {
	e := c.e
	if e.readOnly && len(c.q.words) == 1 && c.gv == 0 && c.tv >= 0 && c.q.words[0].text == e.words[c.tv].text {
		// "lock", where only doors can be locked.
		if ts := c.x.words[e.ids[c.tv]].tools; len(ts) == 1 {
			return .20
		}
	}
	if !e.readOnly {
		return .90
	}
	// Counted so that a tool which has nothing to do with it, being added, can
	// only make this dearer.
	if n := len(c.x.words[e.ids[j]].tools); n >= 3 && n*5 >= len(c.x.entries)*2 {
		return .20 // what all of this server is about
	}
	return .90
}

// shorter reports whether a tool is named like e up to the word at j.
func (x *index) shorter(e *entry, j int) bool {
	for _, t := range x.words[e.ids[0]].tools {
		o := &x.entries[t]
		if o == e || len(o.ids) != j {
			continue
		}
		same := true
		for k := range o.ids {
			same = same && o.ids[k] == e.ids[k]
		}
		if same {
			return true
		}
	}
	return false
}

// modifierCost is what leaving out a word that narrows the head costs: little
// where the catalog knows the head only with it, much where it tells tools
// apart.
func (x *index) modifierCost(e *entry, j int) float32 {
	if e.head < 0 {
		return .45
	}
	other, bare := 0, 0
	for _, o := range x.headMod[e.ids[e.head]] {
		// Only what could answer the same request tells anything.
		if other := &x.entries[o.entry]; other == e || e.readOnly && !other.readOnly {
			continue
		}
		has := false
		for _, id := range o.words {
			has = has || id == e.ids[j]
		}
		switch {
		case has:
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
func (c *comparison) extra() {
	e, q, m := c.e, c.q, &c.m
	for i := range q.words {
		if c.usedG[i] || i == c.gv {
			continue
		}
		w := &q.words[i]
		cost := float32(0)
		k := kindExtra
		switch {
		case w.lex.class == fillerWord:
			cost = .02
			if w.base == "all" && !e.readOnly {
				cost = .70
			}
		case w.lex.class == prepositionWord:
			next := i + 1
			narrows := w.text == "in" || w.text == "from" || w.text == "without" || w.text == "before" || w.text == "after"
			switch {
			case next >= len(q.words):
				cost = .10
			case !c.usedG[next] && (w.text == "by" && e.params[q.words[next].base] || c.scope(next)):
				c.usedG[next] = true
				cost = .07
			case c.usedG[next] && !narrows:
				cost = .05
			case c.usedG[next] && c.pos[next] >= 0 && int(c.pos[next]) != e.head:
				cost = .05 // it narrows here as it does there
			case c.usedG[next]:
				cost = .70 // to search in files is not to search files
			default:
				cost = .30
			}
		case w.lex.class == adjectiveWord:
			switch {
			case w.base == "new" && c.gv >= 0 && c.family(c.gv, q.words).family == "create":
				cost = .05
			case w.base == "all" && e.readOnly:
				cost = .02
			case (w.base == "full" || w.base == "complete" || w.base == "entire" || w.base == "single") && e.readOnly:
				cost = .20
			case w.base == "my" && (e.desc["user"] || e.desc["caller"] || e.desc["account"] || e.desc["own"] || e.desc["authenticated"]):
				cost = .10
			default:
				cost = .50
			}
		case w.lex.info && e.readOnly:
			cost = .10
			switch {
			case e.verb >= 0 && (e.words[e.verb].text == "read" || !c.fetches()), e.single() && e.verb >= 0:
				cost = .60 // to read or to list things is not to ask about one
			case e.plural && !c.plural:
				cost = .40
			}
		case w.base == "content" && e.verb >= 0 && e.words[e.verb].text == "read":
			cost = .05
		case w.base == "item" || w.base == "entry" || w.base == "object" || w.base == "record":
			// An invoice item is no invoice, unless the tool speaks of items, too.
			cost = .60
			if e.readOnly && e.desc[q.inDesc[i]] {
				cost = .15
			}
		case c.scope(i):
			cost = .10
			if !e.readOnly {
				cost = .15
			}
			if w.plural && e.readOnly && (c.fetches() || e.single()) {
				cost = .60
			}
		case w.lex.verb != 0 && (!w.lex.noun || i == 0 && len(q.words) > 1 && i+1 < len(q.words) && c.usedG[i+1] && e.verb >= 0):
			cost = blocked // to merge a request is not to get it
		default:
			cost, k = c.extraThing(i)
			m.evidence = m.evidence || k == kindDescription
		}
		m.add(cost, k)
	}
}

// scope reports whether a requested word only says of what: it is what a
// required parameter identifies, and some other word names the thing.
func (c *comparison) scope(i int) bool {
	w := &c.q.words[i]
	if w.lex.class != contentWord || !c.e.needs[c.x.lex.canonical(w.text)] {
		return false
	}
	switch w.base {
	case "id", "name", "key", "value", "text", "query", "type", "path":
		return len(c.q.words) > 1 && c.e.single()
	}
	if c.e.single() {
		return c.gv >= 0 && c.tv >= 0 && c.family(c.gv, c.q.words).sub == c.family(c.tv, c.e.words).sub && c.family(c.gv, c.q.words).family == c.family(c.tv, c.e.words).family
	}
	for j := range c.q.words {
		if j != i && c.pos[j] >= 0 && int(c.pos[j]) == c.e.head {
			return true
		}
	}
	return false
}

func (c *comparison) extraThing(i int) (float32, kind) {
	w, e, q := &c.q.words[i], c.e, c.q
	switch {
	case (c.x.server[w.base] || c.x.server[w.text]) && !c.x.has(w.base):
		return .10, kindExtra
	case e.desc[q.inDesc[i]] && e.single() && c.usedT[len(e.words)-1]:
		return .18, kindExtra // a name of one word leaves the rest to the description
	case e.desc[q.inDesc[i]] && e.params[w.base] && e.readOnly && i != c.head && e.head >= 0 && c.usedT[e.head]:
		return .15, kindExtra // "Events of a calendar", and which one is a parameter
	case e.desc[q.inDesc[i]] && i != c.head && len(c.x.descs[q.inDesc[i]]) >= 4 && len(c.x.descs[q.inDesc[i]])*3 >= len(c.x.entries):
		return .20, kindExtra // what all of this server is about
	case e.desc[q.inDesc[i]]:
		cost := float32(.45)
		if len(c.x.descs[q.inDesc[i]]) > 1 {
			cost = .60
		}
		if e.params[w.base] && e.readOnly && i != q.head && e.head >= 0 && c.usedT[e.head] {
			cost = .15 // "Events of a calendar", and which one is a parameter
		}
		if i == c.head && e.head >= 0 {
			cost = .70
		}
		return cost, kindDescription
	case e.params[w.base]:
		if i == c.head {
			return .70, kindExtra
		}
		return .50, kindExtra
	}
	return blocked, kindExtra
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
