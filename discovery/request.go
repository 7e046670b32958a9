package discovery

import (
	"slices"
	"sort"
	"strings"
)

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
	} else if len(x.common) == 1 && len(raw) > 1 && x.unknown(raw[0]) && !ordinaryEnglish(raw[0]) && distance(raw[0], x.common[0]) <= edits(min(len(raw[0]), len(x.common[0]))) {
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
		if w.lex.known || x.has(w.base) || len(w.text) < 3 || len(w.text) > 12 || ordinaryEnglish(w.text) {
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
		if best == "" || tie || turned(w.text, best) || limit > edits(min(len(w.text), len(best))) {
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
