package discovery

import (
	"fmt"
	"strings"
)

func (x *index) resolve(requested string, o *settings) Resolution {
	r := x.lookUp(requested, o)
	if r.Tool == "" || r.Step == StepExact {
		return r
	}
	if i := x.byName[r.Tool]; !o.mayRun(&x.entries[i]) && (marksMore(requested) || x.elsewhere(requested, o)) {
		return Resolution{Requested: requested, Reason: x.refusal(i), Candidates: r.Candidates}
	}
	return r
}

func (x *index) lookUp(requested string, o *settings) Resolution {
	r := Resolution{Requested: requested}
	if i, ok := x.byName[requested]; ok {
		return x.found(r, i, StepExact, "")
	}
	if len(requested) > maxName {
		r.Reason = "the name is too long to be compared"
		return r
	}
	name := clean(requested)
	if name == "" {
		r.Reason = "the name is empty"
		return r
	}
	if i, ok := x.byName[name]; ok {
		return x.found(r, i, StepClean, "blanks, quotes or control tokens around the name")
	}
	forms := append([]string{name}, x.beheaded(name)...)
	for _, f := range forms[1:] {
		if i, ok := x.byName[f]; ok {
			return x.found(r, i, StepAffix, "a namespace before the name")
		}
	}
	var collided []int32
	for _, f := range forms {
		switch s, ok := x.byFold[fold(f)]; {
		case ok && s.many:
			return x.collision(r, fold(f), o)
		case ok && f == name:
			return x.found(r, s.entry, StepFold, "case or separators")
		case ok:
			return x.found(r, s.entry, StepAffix, "a namespace before the name")
		}
		if s, ok := x.byBare[x.bare(split(f))]; ok {
			if s.many {
				collided = append(collided, s.entry)
				continue
			}
			return x.found(r, s.entry, StepAffix, "the server's own words or an article")
		}
	}
	if i, alias, notice, ok := x.aliased(forms, o); ok {
		r.Alias, r.Notice = alias, notice
		return x.found(r, i, StepAlias, "a declared other name")
	}
	var declined string
	for _, f := range forms {
		for range 2 {
			rest, sure, ok := x.untailed(f, o)
			if !ok {
				break
			}
			if s, ok := x.known(rest); ok && !s.many {
				if !sure && !o.mayRun(&x.entries[s.entry]) {
					declined = x.refusal(s.entry)
					collided = append(collided, s.entry)
					break
				}
				return x.found(r, s.entry, StepAffix, "a suffix behind the name")
			}
			if i, alias, notice, ok := x.aliased([]string{rest}, o); ok {
				r.Alias, r.Notice = alias, notice
				return x.found(r, i, StepAlias, "a declared other name")
			}
			f = rest
		}
	}
	if i, ok := x.behindMCP(name); ok {
		return x.found(r, i, StepAffix, "a client's namespace before the name")
	}
	if i, how, sure, ok := x.segment(forms); ok {
		if sure || o.mayRun(&x.entries[i]) {
			return x.found(r, i, StepSegment, how)
		}
		declined = x.refusal(i)
		collided = append(collided, i)
	}
	for _, f := range forms {
		rest, ok := unnumbered(f)
		if !ok {
			continue
		}
		if s, ok := x.known(rest); ok && !s.many {
			if o.mayRun(&x.entries[s.entry]) {
				return x.found(r, s.entry, StepNumber, "a number behind the name")
			}
			declined = x.refusal(s.entry)
			collided = append(collided, s.entry)
		}
	}
	return x.byWords(r, x.named(forms), collided, declined, o)
}

// named is the form to compare word by word: without namespaces, but with a
// "call_" that may be the action.
func (x *index) named(forms []string) string {
	for i := 1; i < len(forms); i++ {
		head := strings.TrimRight(strings.TrimSuffix(forms[i-1], forms[i]), "_- ")
		switch strings.ToLower(head) {
		case "call", "tool", "tools", "function":
			if first := split(forms[i]); len(first) > 0 {
				if lx := x.lex.words[first[0]]; lx == nil || lx.verb == 0 || lx.noun {
					return forms[i-1]
				}
			}
		}
	}
	return forms[len(forms)-1]
}

func (x *index) found(r Resolution, i int32, s Step, reason string) Resolution {
	r.Tool, r.Step, r.Reason = x.entries[i].tool.Name, s, reason
	r.Candidates = []Candidate{{Name: r.Tool, Score: 1}}
	return r
}

// known looks a name up under every key that loses nothing.
func (x *index) known(name string) (slot, bool) {
	if i, ok := x.byName[name]; ok {
		return slot{entry: i}, true
	}
	if s, ok := x.byFold[fold(name)]; ok {
		return s, true
	}
	s, ok := x.byBare[x.bare(split(name))]
	return s, ok
}

// collision answers a name that several tools fold to: none of them is more
// right than the others.
func (x *index) collision(r Resolution, key string, o *settings) Resolution {
	for i := range x.entries {
		if fold(x.entries[i].tool.Name) == key {
			r.Candidates = append(r.Candidates, Candidate{Name: x.entries[i].tool.Name, Score: 1})
		}
	}
	sortCandidates(r.Candidates)
	r.Candidates = r.Candidates[:min(len(r.Candidates), o.suggestions)]
	r.Reason = "several tools are spelled like this"
	return r
}

func (x *index) aliased(forms []string, o *settings) (i int32, alias, notice string, ok bool) {
	if o.aliases == nil {
		return 0, "", "", false
	}
	for _, f := range forms {
		for _, spelled := range []string{f, strings.Join(split(f), "_"), strings.Join(split(f), "-")} {
			tool, notice, known := o.aliases.ResolveAlias(spelled)
			if !known {
				continue
			}
			// An alias of a tool that this caller cannot see is no alias.
			if i, ok := x.byName[tool]; ok {
				return i, spelled, notice, true
			}
		}
	}
	return 0, "", "", false
}

// behindMCP resolves "mcp_server_tool" with single separators. That there is a
// namespace is certain; how many words it has is not, so it must be followed
// by a tool's whole name, and may not contain an action.
func (x *index) behindMCP(name string) (int32, bool) {
	words := split(name)
	if len(words) < 3 || !isMCP(words[0]) {
		return 0, false
	}
	for n := 2; n <= min(5, len(words)-1); n++ {
		if lx := x.lex.words[words[n-1]]; lx != nil && lx.verb != 0 && !lx.noun {
			return 0, false
		}
		rest := strings.Join(words[n:], "")
		if s, ok := x.byFold[rest]; ok && !s.many {
			return s.entry, true
		}
		if s, ok := x.byBare[x.bare(words[n:])]; ok && !s.many {
			return s.entry, true
		}
	}
	return 0, false
}

// segment leaves out a namespace: one before the request, or one that the tool
// carries and the request does not. sure is true if the namespace is provably
// a client's.
func (x *index) segment(forms []string) (entry int32, how string, sure, ok bool) {
	f := forms[len(forms)-1]
	if s, ok := x.bySeg[fold(f)]; ok && !s.many {
		return s.entry, "the tool's namespace left out", x.onlyClientHeads(x.entries[s.entry].tool.Name, fold(f)), true
	}
	plain, _ := unnumbered(f)
	for _, rest := range append(segments(f), segments(plain)...) {
		if s, ok := x.known(rest); ok && !s.many {
			return s.entry, "an unknown namespace before the name", false, true
		}
	}
	return 0, "", false, false
}

// onlyClientHeads reports whether a tool's name is rest with nothing before it
// but a client's and the server's words.
func (x *index) onlyClientHeads(name, rest string) bool {
	for _, f := range x.beheaded(name) {
		if fold(f) == rest {
			return true
		}
	}
	return false
}

// byWords compares the request word by word with the tools.
func (x *index) byWords(r Resolution, name string, first []int32, declined string, o *settings) Resolution {
	q := queries.Get().(*query)
	defer q.release()
	words := x.request(q, name)
	if len(words) == 0 {
		r.Reason = "the name has no words"
		return r
	}
	x.prepare(q, words)
	x.meet(q)
	ranked, best, second := x.rank(q, first, o.suggestions)
	for _, c := range ranked {
		r.Candidates = append(r.Candidates, Candidate{Name: x.entries[c.entry].tool.Name, Score: float64(c.score)})
	}
	if len(ranked) == 0 {
		r.Reason = "no tool is named like this"
		return r
	}
	if declined != "" {
		r.Reason = declined
		return r
	}
	reason, ok := x.decide(&best, second, o)
	r.Reason = reason
	if ok {
		r.Tool, r.Step = x.entries[best.entry].tool.Name, best.step()
		for k, c := range r.Candidates {
			if c.Name == r.Tool {
				copy(r.Candidates[1:k+1], r.Candidates[:k])
				r.Candidates[0] = c
			}
		}
		if len(r.Candidates) == 0 || r.Candidates[0].Name != r.Tool {
			r.Candidates = append([]Candidate{{Name: r.Tool, Score: 1}}, r.Candidates...)
			r.Candidates = r.Candidates[:min(len(r.Candidates), o.suggestions)]
		}
	}
	return r
}

// decide says whether the best match may run, and why not.
func (x *index) decide(m *match, second float32, o *settings) (string, bool) {
	if m.cost >= blocked {
		return "no tool does what the name says", false
	}
	e := &x.entries[m.entry]
	limit, margin := float32(limitRead), float32(marginRead)
	if m.evidence {
		limit, margin = .50, .45
	}
	if !e.readOnly {
		limit, margin = limitWrite, marginWrite
		if m.evidence {
			margin = 1
		}
	}
	switch {
	case m.cost > limit:
		return "no tool is near enough to be certain", false
	case second-m.cost < margin:
		return "several tools are near", false
	case !o.mayRun(e):
		return x.refusal(m.entry), false
	}
	return m.describe(), true
}

func (x *index) refusal(i int32) string {
	e := &x.entries[i]
	if e.destructive {
		return fmt.Sprintf("%s may change or destroy something, so it runs under its exact name only", e.tool.Name)
	}
	return fmt.Sprintf("%s changes something, so it runs under its exact name only", e.tool.Name)
}

// step is the most telling of the differences.
func (m *match) step() Step {
	steps := [kinds]Step{kindNumber: StepPlural, kindSpelling: StepAbbreviate, kindOrder: StepOrder, kindTypo: StepTypo, kindVerb: StepVerb,
		kindSynonym: StepSynonym, kindDropped: StepDropped, kindExtra: StepExtra, kindDescription: StepDescription}
	for k := kinds; k > 0; k-- {
		if m.kinds[k-1] {
			return steps[k-1]
		}
	}
	return StepOrder
}

// describe lists the differences in words.
func (m *match) describe() string {
	says := [kinds]string{kindNumber: "one or many", kindSpelling: "another form of a word", kindOrder: "word order", kindTypo: "a typing error", kindVerb: "another word for the same action",
		kindSynonym: "another word for the same thing", kindDropped: "a word left out", kindExtra: "a word added", kindDescription: "a word of the description"}
	var parts []string
	for k, has := range m.kinds {
		if has {
			parts = append(parts, says[k])
		}
	}
	s := strings.Join(parts, ", ")
	if m.swapped[0] != "" {
		s += fmt.Sprintf(" (%s for %s)", m.swapped[0], m.swapped[1])
	}
	return s
}
