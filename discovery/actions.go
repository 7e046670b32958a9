package discovery

import (
	"strings"
)

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
