package discovery

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Step names the rule that led from the requested name to a tool.
type Step string

// The steps, in the order in which they are tried. Those up to StepAlias lose
// nothing or were declared, and may run any tool. The others run a tool that
// is annotated read-only, or that the operator has opted in.
const (
	StepNone        Step = ""
	StepExact       Step = "exact"       // the very name
	StepClean       Step = "clean"       // without blanks, quotes, "()", invisible characters, control tokens
	StepAffix       Step = "affix"       // without the namespace of a client or the server, or a stray suffix
	StepFold        Step = "fold"        // another case or other separators
	StepAlias       Step = "alias"       // a declared other name
	StepSegment     Step = "segment"     // without a namespace that is nobody's we know
	StepNumber      Step = "number"      // without the number of a call
	StepPlural      Step = "plural"      // one and many
	StepAbbreviate  Step = "spelling"    // an abbreviation or another form of a word
	StepOrder       Step = "order"       // the same words in another order
	StepTypo        Step = "typo"        // typing errors
	StepVerb        Step = "verb"        // another word for the same action
	StepSynonym     Step = "synonym"     // another word for the same thing
	StepDropped     Step = "dropped"     // a word left out
	StepExtra       Step = "extra"       // a word added
	StepDescription Step = "description" // a word that only the tool's description has
)

// Lossless reports whether the step only removes what carries no meaning, or
// follows a declaration of the operator's.
func (s Step) Lossless() bool {
	switch s {
	case StepExact, StepClean, StepAffix, StepFold, StepAlias:
		return true
	}
	return false
}

// A Resolution is what became of a requested name.
type Resolution struct {
	// Requested is the name as it was sent.
	Requested string
	// Tool is the name of the tool to run, or "" if none is certain.
	Tool string
	// Step is the rule that led to Tool.
	Step Step
	// Reason says in words what differs between Requested and Tool, or why no
	// tool was chosen.
	Reason string
	// Notice is what the operator wants callers of a deprecated name to read.
	Notice string
	// Candidates are the nearest tools, best first, at most Options.Suggestions.
	// If Tool is set it is the first of them.
	Candidates []Candidate
}

// A Candidate is a tool that may have been meant.
type Candidate struct {
	Name string
	// Score is between 0 and 1; it orders candidates of one Resolution and
	// says nothing across Resolutions.
	Score float64
}

// Resolve finds the tool that requested means among tools, which are those
// that the caller may see. It is a pure function: it needs no server, and its
// result does not depend on the order of tools. A nil opts means the zero
// Options.
//
// It prepares tools anew for each call. A [Resolver] keeps what it has
// prepared.
func Resolve(requested string, tools []*mcp.Tool, opts *Options) Resolution {
	o := newSettings(opts)
	return buildIndex(tools, o).resolve(requested, o)
}

func (x *index) resolve(requested string, o *settings) Resolution {
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
	if i, notice, ok := x.aliased(forms, o); ok {
		r.Notice = notice
		return x.found(r, i, StepAlias, "a declared other name")
	}
	for _, f := range forms {
		for range 2 {
			rest, ok := x.untailed(f)
			if !ok {
				break
			}
			if s, ok := x.known(rest); ok && !s.many {
				return x.found(r, s.entry, StepAffix, "a suffix behind the name")
			}
			if i, notice, ok := x.aliased([]string{rest}, o); ok {
				r.Notice = notice
				return x.found(r, i, StepAlias, "a declared other name")
			}
			f = rest
		}
	}
	if i, ok := x.behindMCP(name); ok {
		return x.found(r, i, StepAffix, "a client's namespace before the name")
	}
	var declined string
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
			if strings.HasPrefix(f[len(rest):], ":") || o.mayRun(&x.entries[s.entry]) {
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

func (x *index) aliased(forms []string, o *settings) (int32, string, bool) {
	if o.aliases == nil {
		return 0, "", false
	}
	for _, f := range forms {
		for _, spelled := range []string{f, strings.Join(split(f), "_"), strings.Join(split(f), "-")} {
			tool, notice, ok := o.aliases.ResolveAlias(spelled)
			if !ok {
				continue
			}
			// An alias of a tool that this caller cannot see is no alias.
			if i, ok := x.byName[tool]; ok {
				return i, notice, true
			}
		}
	}
	return 0, "", false
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

// request cuts a requested name into the words to compare: without the
// server's, with compounds written as the catalog writes them.
func (x *index) request(q *query, name string) []token {
	raw := split(name)
	if len(raw) == 1 {
		if c, ok := x.lex.commands[raw[0]]; ok && x.byFold[raw[0]] == (slot{}) {
			raw = strings.Fields(c)
			q.penalty, q.repaired = .10, kindSynonym
		}
	}
	if n := x.headed(raw); n > 0 {
		raw = raw[n:]
	} else if len(x.common) == 1 && len(raw) > 1 && x.unknown(raw[0]) && distance(raw[0], x.common[0]) <= edits(min(len(raw[0]), len(x.common[0]))) {
		raw = raw[1:]
		q.penalty, q.repaired = q.penalty+costTypo, kindTypo
	}
	if n := len(raw); n > 2 && (raw[n-1] == "tool" || raw[n-1] == "function") && !x.has(raw[n-1]) {
		raw = raw[:n-1]
	}
	if len(raw) > maxWords {
		raw = raw[:maxWords]
	}
	spelled := make([]string, 0, len(raw)+2)
	for i := 0; i < len(raw); i++ {
		w := raw[i]
		base, _ := singular(w)
		if i+1 < len(raw) && !x.server[w] {
			next, plural := singular(raw[i+1])
			if joined := w + next; x.has(joined) && x.lex.compounds[[2]string{w, next}] == "" {
				if plural {
					joined = w + raw[i+1]
				}
				spelled = append(spelled, joined)
				i++
				continue
			}
		}
		if pair, ok := x.joined[base]; ok && !x.has(base) {
			spelled = append(spelled, pair[0])
			if w != base {
				spelled = append(spelled, pair[1]+"s")
			} else {
				spelled = append(spelled, pair[1])
			}
			continue
		}
		if a, b, ok := x.glued(w); ok {
			spelled = append(spelled, a, b)
			continue
		}
		spelled = append(spelled, w)
	}
	words := x.lex.join(spelled)
	kept := false
	for i := range words {
		// A word of the server's name that tools are named with is a thing here.
		kept = kept || x.server[words[i].base] && x.has(words[i].base)
	}
	if !kept {
		words = x.strip(words)
	}
	if len(words) > maxWords {
		words = words[:maxWords]
	}
	x.mendVerb(q, words)
	return words
}

// unknown reports whether a word means nothing, here or in general.
func (x *index) unknown(w string) bool {
	base, _ := singular(w)
	lx := x.lex.words[base]
	return !x.has(base) && (lx == nil || !lx.known)
}

func (x *index) has(base string) bool {
	_, ok := x.wordID[base]
	return ok
}

// glued cuts a word that is two words without a border: "findpapers".
func (x *index) glued(w string) (string, string, bool) {
	if len(w) < 7 || len(w) > 40 || x.has(w) {
		return "", "", false
	}
	base, _ := singular(w)
	if lx := x.lex.words[base]; lx != nil && lx.known || x.has(base) {
		return "", "", false
	}
	var a, b string
	n := 0
	for i := 3; i <= len(w)-3; i++ {
		lx := x.lex.words[w[:i]]
		second, _ := singular(w[i:])
		if (lx != nil && lx.verb != 0 || x.has(w[:i])) && x.has(second) {
			a, b = w[:i], w[i:]
			n++
		}
	}
	return a, b, n == 1
}

// mendVerb corrects a typing error in the action itself, when no other word of
// the catalog is as near. The actions are the language's and not the
// catalog's, so that a further tool does not change what is understood.
func (x *index) mendVerb(q *query, words []token) {
	for _, i := range []int{0, len(words) - 1} {
		if i < 0 || len(words) < 2 {
			return
		}
		w := &words[i]
		if w.lex.known || x.has(w.base) || len(w.text) < 3 || len(w.text) > 12 {
			continue
		}
		best, limit, tie := "", edits(len(w.text))+1, false
		mask := letters(w.text)
		for _, v := range x.lex.actions {
			d := len(v.word) - len(w.text)
			if d >= limit+1 || -d >= limit+1 || popcount(v.letters^mask) > 2*limit || len(v.word) == 3 && len(w.text) == 3 && !swapped(v.word, w.text) {
				continue
			}
			switch n := distance(w.text, v.word); {
			case n < limit:
				best, limit, tie = v.word, n, false
			case n == limit && best != "":
				tie = true
			}
		}
		if best == "" || tie || prefixed(w.text, best) || limit > edits(min(len(w.text), len(best))) {
			continue
		}
		for id := range x.words {
			v := &x.words[id]
			if d := len(v.base) - len(w.base); v.base != best && d <= limit && -d <= limit && popcount(v.letters^letters(w.base)) <= 2*limit && distance(w.base, v.base) <= limit {
				tie = true
				break
			}
		}
		if !tie {
			*w = x.lex.token(best)
			q.penalty += costTypo * float32(limit)
			q.repaired = kindTypo
			return
		}
	}
}

// meet collects the tools that share something with the request.
func (x *index) meet(q *query) {
	note := func(i int32) {
		if q.seen[i] != q.gen {
			q.seen[i], q.weight[i] = q.gen, 0
			q.met = append(q.met, i)
		}
	}
	for i := range q.words {
		if i == q.verb && !q.words[i].lex.noun && len(q.words) > 1 {
			continue
		}
		for _, id := range q.touched[i] {
			w := &x.words[id]
			for _, t := range w.tools {
				note(t)
				q.weight[t] += w.idf * (2 - q.rows[i][id].cost)
			}
		}
	}
	x.thin(q)
	nouns := len(q.met)
	for i := range q.words {
		w := &q.words[i]
		if w.lex.class != contentWord {
			continue
		}
		if ts := x.descs[q.inDesc[i]]; len(ts) <= 12 || nouns == 0 && len(ts) <= 64 {
			for _, t := range ts {
				note(t)
			}
		}
		if i != q.verb && !x.has(w.base) {
			for _, other := range q.alike[i] {
				if ts := x.descs[descKey(other)]; len(ts) <= 6 {
					for _, t := range ts {
						note(t)
					}
				}
			}
		}
	}
	if q.verb >= 0 {
		family := x.lex.verbs[q.words[q.verb].lex.verb].family
		few := func(ts []int32) {
			if len(ts) <= 12 {
				for _, t := range ts {
					note(t)
				}
			}
		}
		if family != "read" {
			few(x.families[family])
		} else if sub := x.lex.verbs[q.words[q.verb].lex.verb].sub; sub != "get" {
			few(x.subs[sub])
		}
		if len(q.met) < 6 {
			for other, ts := range x.families {
				if other == family || x.lex.related[[2]string{family, other}] {
					few(ts)
				}
			}
		}
		if family == "read" && len(x.entries) <= 48 {
			// Something that reads should be among what is proposed.
			for i := range x.entries {
				if x.entries[i].readOnly {
					note(int32(i))
				}
			}
		}
	}
}

// thin leaves out the tools that share least with the request, where many share
// something.
func (x *index) thin(q *query) {
	const most = 160
	if len(q.met) <= most {
		return
	}
	weights := make([]float32, len(q.met))
	for k, t := range q.met {
		weights[k] = q.weight[t]
	}
	slices.Sort(weights)
	least := weights[len(weights)-most]
	if weights[len(weights)-1] == least {
		return // they share the same
	}
	if same := sort.Search(len(weights), func(k int) bool { return weights[k] > least }); len(weights)-same >= most/4 {
		least = weights[same] // a crowd that shares the same word would come along
	}
	q.met = slices.DeleteFunc(q.met, func(t int32) bool {
		if q.weight[t] < least {
			q.seen[t] = 0
			return true
		}
		return false
	})
}

type rankedMatch struct {
	entry int32
	score float32
	match match
}

func sortCandidates(c []Candidate) {
	sort.SliceStable(c, func(i, j int) bool {
		if c[i].Score != c[j].Score {
			return c[i].Score > c[j].Score
		}
		return c[i].Name < c[j].Name
	})
}
