package discovery

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
