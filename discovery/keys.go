package discovery

import (
	"slices"
	"strings"
)

// A tier is one way in which a sent key may mean a property. Tiers are tried
// in order, all keys of a tier before the next.
type tier struct {
	kind string
	// accept reports whether the sent key means the property.
	accept func(r *repairer, sent, prop *keyName) bool
	// sure tiers may point at any property; the others never at a credential.
	sure bool
	// mild tiers are for tools that cannot destroy: what a key means is likely,
	// but no more.
	mild bool
}

// A keyName is the name of a parameter, ready to be compared.
type keyName struct {
	name   string
	folded string
	words  []string
	canon  []string // words in their base form and usual spelling
	groups []int
}

var parameterGroupsOf = func() map[string][]int {
	m := map[string][]int{}
	for i, g := range parameterGroups {
		for w := range wordsOf(g) {
			m[w] = append(m[w], i)
		}
	}
	return m
}()

func (l *lexicon) keyName(name string) *keyName {
	k := &keyName{name: name, folded: fold(name), words: split(name)}
	for _, w := range k.words {
		k.canon = append(k.canon, l.canonical(w))
	}
	k.groups = parameterGroupsOf[k.folded]
	return k
}

// canonical is the usual spelling of a word's base form.
func (l *lexicon) canonical(w string) string {
	base, _ := singular(w)
	if lx := l.words[base]; lx != nil && lx.same != 0 {
		return l.members[lx.same][0]
	}
	return base
}

var tiers = []tier{
	{kind: "spelling", sure: true, accept: func(_ *repairer, sent, prop *keyName) bool { return sent.folded == prop.folded }},
	{kind: "affix", sure: true, accept: func(_ *repairer, sent, prop *keyName) bool { return trimmed(sent) == prop.folded }},
	{kind: "alias", sure: true, accept: func(r *repairer, sent, prop *keyName) bool { return r.declared[sent.folded] == prop.name }},
	{kind: "plural", accept: func(_ *repairer, sent, prop *keyName) bool { return slices.Equal(sent.canon, prop.canon) }},
	{kind: "synonym", accept: func(r *repairer, sent, prop *keyName) bool {
		return r.destructive && r.exchangeable(sent, prop)
	}},
	{kind: "synonym", mild: true, accept: func(_ *repairer, sent, prop *keyName) bool { return shareGroup(sent.groups, prop.groups) }},
	{kind: "synonym", accept: (*repairer).overlaps},
	{kind: "synonym", accept: func(r *repairer, sent, prop *keyName) bool {
		return r.soleID == prop.name && r.identifies(sent, prop)
	}},
	{kind: "typo", accept: func(r *repairer, sent, prop *keyName) bool { return r.mistyped(sent, prop) }},
}

// exchangeable reports whether two keys are names for one thing on a tool that
// may destroy, where what is written to must not be guessed: a file is no folder.
func (r *repairer) exchangeable(sent, prop *keyName) bool {
	for _, g := range strictGroups {
		if g[sent.folded] && g[prop.folded] {
			return sent.folded != "file" || !r.toolWords["folder"] && !r.toolWords["directory"] && !r.toolWords["dir"]
		}
	}
	return false
}

// identifies reports whether two keys are the identifier of one thing: id and
// issue_id, where the tool's name says that it is about issues.
func (r *repairer) identifies(sent, prop *keyName) bool {
	bare := func(k *keyName) bool { return len(k.canon) == 1 && k.canon[0] == "identifier" }
	if bare(sent) {
		return true
	}
	n := len(sent.canon)
	return bare(prop) && n > 1 && sent.canon[n-1] == "identifier" && !slices.ContainsFunc(sent.canon[:n-1], func(w string) bool { return !r.toolWords[w] })
}

// soleIdentifier returns the one property that is called <noun>_id, if there is
// one and no other ends like it.
func soleIdentifier(props []*keyName) string {
	found := ""
	for _, p := range props {
		if n := len(p.canon); n > 0 && p.canon[n-1] == "identifier" {
			if found != "" {
				return ""
			}
			found = p.name
		}
	}
	return found
}

// trimmed is the fold of a key without words that carry no meaning.
func trimmed(k *keyName) string {
	w := k.words
	for len(w) > 1 && parameterHeads[w[0]] {
		w = w[1:]
	}
	for len(w) > 1 && parameterTails[w[len(w)-1]] {
		w = w[:len(w)-1]
	}
	return strings.Join(w, "")
}

func shareGroup(a, b []int) bool {
	for _, g := range a {
		if slices.Contains(b, g) {
			return true
		}
	}
	return false
}

// overlaps reports whether two keys are the same but for words that say
// nothing here: issue_id for id in get_issue, branch for branch_name. What is
// asked of a thing is not another: issue_number is no issue_id.
func (r *repairer) overlaps(sent, prop *keyName) bool {
	same, more := 0, false
	for _, w := range sent.canon {
		if slices.Contains(prop.canon, w) {
			same++
		} else if more = true; !r.empty(w) {
			return false
		}
	}
	if same == 0 || attributesDiffer(sent, prop) {
		return false
	}
	for _, w := range prop.canon {
		// Words on either side are two things: user_id and address_id of
		// delete_user_address.
		if !slices.Contains(sent.canon, w) && (more || !r.empty(w) || r.destructive && attributeWords[w]) {
			return false
		}
	}
	if r.destructive && more && len(attributes(sent)) > 0 && len(attributes(prop)) == 0 {
		return false
	}
	// A lone "id" or "name" is what it is called at the end: project_id, but
	// not id_type.
	if len(sent.canon) == 1 && genericParameterWords[sent.canon[0]] {
		return prop.canon[len(prop.canon)-1] == sent.canon[0]
	}
	return true
}

// attributesDiffer reports whether both keys say what is asked of a thing, and
// not the same.
func attributesDiffer(a, b *keyName) bool {
	x, y := attributes(a), attributes(b)
	return len(x) > 0 && len(y) > 0 && !slices.Equal(x, y)
}

func attributes(k *keyName) []string {
	var found []string
	for _, w := range k.canon {
		switch {
		case w == "uid" || w == "uuid":
			found = append(found, "identifier")
		case attributeWords[w]:
			found = append(found, w)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (r *repairer) empty(w string) bool {
	return !opposedWords[w] && !unitWords[w] && (genericParameterWords[w] || r.toolWords[w])
}

// negated reports whether one key says no to the other: disabled for enabled.
func negated(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	for _, pair := range [...][2]string{{"dis", "en"}, {"dis", ""}, {"un", ""}, {"non", ""}, {"not", ""}, {"no", ""}, {"in", ""}, {"in", "ex"}, {"in", "de"}, {"en", "de"}, {"de", ""}, {"re", ""}, {"allow", "deny"}, {"pre", "post"}} {
		for _, q := range [...][2]string{pair, {pair[1], pair[0]}} {
			x, ok := strings.CutPrefix(a, q[0])
			y, also := strings.CutPrefix(b, q[1])
			if ok && also && x == y {
				return true
			}
		}
	}
	return false
}

// mistyped reports whether one key is a typing error for the other.
func (r *repairer) mistyped(sent, prop *keyName) bool {
	a, b := sent.folded, prop.folded
	if len(a) < 4 || len(b) < 3 {
		return false
	}
	if n := distance(a, b); n > edits(min(len(a), len(b))) {
		return false
	}
	if prefixed(a, b) || negated(a, b) {
		return false
	}
	for i, w := range prop.words {
		if i > 0 && unitWords[w] && !slices.Contains(sent.words, w) && len(sent.words) != len(prop.words) {
			return false // a time-out without a unit is in another, for all that is known
		}
	}
	// Words that differ and both mean something are no typing errors.
	if len(sent.words) == len(prop.words) {
		for i, w := range sent.words {
			v := prop.words[i]
			if w != v && (opposedWords[w] || unitWords[w] || unitWords[v] || negated(w, v) || r.lex.opposites[[2]string{w, v}] || r.known(w) && r.known(v)) {
				return false
			}
		}
	}
	return true
}

func (r *repairer) known(w string) bool {
	base, _ := singular(w)
	lx := r.lex.words[base]
	return lx != nil && lx.known || genericParameterWords[w] || parameterGroupsOf[w] != nil
}

// credentialLike reports whether a property holds a secret. A token that marks
// a page or counts text is none.
func credentialLike(words []string) bool {
	for i, w := range words {
		switch w {
		case "secret", "secrets", "password", "passwd", "passphrase", "credential", "credentials", "apikey", "auth", "authorization", "bearer", "privatekey", "accesskey":
			return true
		case "key":
			if i > 0 && (words[i-1] == "api" || words[i-1] == "private" || words[i-1] == "access" || words[i-1] == "signing" || words[i-1] == "encryption") {
				return true
			}
		case "token":
			if i == 0 {
				return true
			}
			switch words[i-1] {
			case "page", "next", "continuation", "max", "progress", "prev", "previous", "sync", "stop":
			default:
				return true
			}
		}
	}
	return false
}
