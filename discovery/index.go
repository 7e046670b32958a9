package discovery

import (
	"math"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An index is a list of tools, prepared for looking names up. It is not
// changed once it is built, so that many calls may share it.
type index struct {
	lex     *lexicon
	entries []entry
	byName  map[string]int32
	byFold  map[string]slot
	byBare  map[string]slot // without the server's words, the common head and articles
	heads   []string        // words before names that change nothing: the server's, a client's, the operator's
	tails   []string
	server  map[string]bool // words of the server's name
	common  []string        // words that every tool's name begins with

	words    []vword
	wordID   map[string]int32
	same     map[int32][]int32 // spelling group: words
	near     map[int32][]int32
	far      map[int32][]int32 // words by any kinship, for proposals
	stems    map[string][]int32
	joined   map[string][2]string // "datasource": the two neighbours that some tool has
	firsts   map[byte][]int32     // words by first letter, for truncated ones
	descs    map[string][]int32   // description stem: tools
	bySeg    map[string]slot      // the last part of a name with doubled separators
	headMod  map[int32][]modifiers
	subs     map[string][]int32 // kind of reading: tools
	acts     map[string]bool    // words that are some tool's action
	families map[string][]int32 // family: tools
}

// A slot is what one key of a map leads to: one tool, or several, in which
// case the key is worth nothing.
type slot struct {
	entry int32
	many  bool
}

// modifiers are the words that stand before a head noun in one tool's name.
type modifiers struct {
	entry int32
	words []int32
}

// A vword is a word that occurs in some tool's name.
type vword struct {
	base    string
	letters uint64
	lex     *lexeme
	tools   []int32 // ascending, without repeats
	idf     float32
	stem    string
	forms   map[string]uint8 // as a head, by action: 1 stands in the plural, 2 in the singular
}

// An entry is one tool.
type entry struct {
	tool        *mcp.Tool
	readOnly    bool
	destructive bool
	words       []token
	ids         []int32
	verb        int // position in words, -1 if none
	verbs       int // how many further verbs are joined to it ("create_or_update")
	head        int // position of the noun that the rest narrows, -1 if none
	plural      bool
	ownID       bool // requires an identifier of the thing itself
	needsQuery  bool
	several     bool            // a required parameter selects what it does
	telling     uint16          // positions of words in which alone another tool differs
	space       bool            // the first word is a namespace that several tools carry
	needs       map[string]bool // words of required parameters, in their usual spelling
	object      string          // what the description says the tool is about, in its base form
	objects     bool            // in the plural
	required    int
	desc        map[string]bool // stems of the description
	descVerb    int32
	params      map[string]bool // words of parameter names, base form
}

type token struct {
	text   string
	base   string
	plural bool
	lex    *lexeme
}

var noLexeme = &lexeme{}

func (l *lexicon) token(text string) token {
	t := token{text: text, lex: l.words[text]}
	if t.lex != nil && t.lex.verb != 0 && !t.lex.noun {
		t.base = text
		return t
	}
	t.base, t.plural = singular(text)
	if t.base != text {
		if x := l.words[t.base]; x != nil {
			t.lex = x
		}
	}
	if t.lex == nil {
		t.lex = noLexeme
	}
	return t
}

// join makes tokens of words, and one of two that are a compound.
func (l *lexicon) join(words []string) []token {
	out := make([]token, 0, len(words))
	for i := 0; i < len(words); i++ {
		w := words[i]
		if i+1 < len(words) {
			next, plural := singular(words[i+1])
			if joined, ok := l.compounds[[2]string{w, next}]; ok {
				t := l.token(joined)
				t.plural = plural
				out = append(out, t)
				i++
				continue
			}
		}
		out = append(out, l.token(w))
	}
	return out
}

const maxWords = 12 // of a name; more are not compared

// buildIndex prepares tools. Its cost grows with the sum of their names and
// first sentences.
func buildIndex(tools []*mcp.Tool, o *settings) *index {
	x := &index{
		lex: o.lex, entries: make([]entry, 0, len(tools)), byName: make(map[string]int32, len(tools)),
		byFold: make(map[string]slot, len(tools)), byBare: make(map[string]slot, len(tools)), wordID: make(map[string]int32, len(tools)),
		same: map[int32][]int32{}, near: map[int32][]int32{}, far: map[int32][]int32{}, stems: map[string][]int32{}, joined: map[string][2]string{},
		firsts: map[byte][]int32{}, descs: map[string][]int32{}, bySeg: map[string]slot{}, headMod: map[int32][]modifiers{}, families: map[string][]int32{}, acts: map[string]bool{}, subs: map[string][]int32{}, server: map[string]bool{},
	}
	raw := make([][]string, 0, len(tools))
	for _, t := range tools {
		if t == nil || t.Name == "" {
			continue
		}
		if _, again := x.byName[t.Name]; again {
			continue
		}
		i := int32(len(x.entries))
		x.byName[t.Name] = i
		x.entries = append(x.entries, entry{tool: t, verb: -1, head: -1})
		put(x.byFold, fold(t.Name), i)
		raw = append(raw, split(t.Name))
	}
	if n := commonHead(raw); n > 0 {
		x.common = raw[0][:n]
	}
	for _, w := range x.common {
		if lx := x.lex.words[w]; lx == nil || lx.verb == 0 {
			x.server[w] = true // in another place it says as little
		}
	}
	for _, name := range o.servers {
		x.heads = append(x.heads, name)
		words := split(name)
		for _, w := range words {
			if lx := x.lex.words[w]; lx == nil || lx.verb == 0 {
				x.server[w] = true
			}
		}
		if len(words) > 1 {
			x.server[strings.Join(words, "")] = true
		}
	}
	if len(x.common) > 0 {
		x.heads = append(x.heads, strings.Join(x.common, "_"))
	}
	x.heads = append(append(x.heads, o.prefixes...), clientHeads...)
	x.tails = append(append(x.tails, o.suffixes...), clientTails...)
	for i := range x.entries {
		x.addEntry(int32(i), raw[i])
	}
	x.finish()
	return x
}

func put(m map[string]slot, key string, i int32) {
	if key == "" {
		return
	}
	if s, ok := m[key]; ok {
		if s.entry != i {
			m[key] = slot{s.entry, true}
		}
		return
	}
	m[key] = slot{entry: i}
}

// commonHead returns how many words all names begin with, leaving at least one
// word to each.
func commonHead(names [][]string) int {
	if len(names) < 2 {
		return 0
	}
	n := len(names[0]) - 1
	for _, words := range names[1:] {
		n = min(n, len(words)-1)
		for i := 0; i < n; i++ {
			if words[i] != names[0][i] {
				n = i
			}
		}
	}
	return max(n, 0)
}

func (x *index) addEntry(i int32, raw []string) {
	e := &x.entries[i]
	t := e.tool
	e.readOnly, e.destructive = effects(t)
	put(x.byBare, x.bare(raw), i)
	for _, s := range segments(t.Name) {
		put(x.bySeg, fold(s), i)
	}
	for _, s := range x.lex.actionsIn(t.Name) {
		put(x.bySeg, fold(s), i)
	}
	for _, f := range beheadedClient(t.Name) {
		put(x.byBare, x.bare(split(f)), i)
	}
	e.words = x.strip(x.lex.join(raw[len(x.common):]))
	if len(e.words) > maxWords {
		e.words = e.words[:maxWords]
	}
	ph := x.lex.parse(e.words)
	e.verb, e.verbs, e.head, e.plural = ph.verb, ph.more, ph.head, ph.plural
	e.ids = make([]int32, len(e.words))
	for j, w := range e.words {
		e.ids[j] = x.addWord(w, i)
		if j > 0 {
			p := e.words[j-1]
			x.joined[p.base+w.base] = [2]string{p.base, w.base}
		}
	}
	if e.verb >= 0 {
		v := x.lex.verbs[e.words[e.verb].lex.verb]
		x.acts[e.words[e.verb].text] = true
		if v.family == "read" {
			x.subs[v.sub] = append(x.subs[v.sub], i)
		}
		x.families[v.family] = append(x.families[v.family], i)
	}
	e.describe(x, t, i)
}

func (x *index) addWord(t token, tool int32) int32 {
	id, ok := x.wordID[t.base]
	if !ok {
		id = int32(len(x.words))
		x.wordID[t.base] = id
		x.words = append(x.words, vword{base: t.base, letters: letters(t.base), lex: t.lex, stem: stem(t.base)})
		if g := t.lex.same; g != 0 {
			x.same[g] = append(x.same[g], id)
		}
		for _, g := range t.lex.near {
			x.near[g] = append(x.near[g], id)
			x.far[g] = append(x.far[g], id)
		}
		for _, g := range t.lex.far {
			x.far[g] = append(x.far[g], id)
		}
		if s := x.words[id].stem; s != "" {
			x.stems[s] = append(x.stems[s], id)
		}
		x.firsts[t.base[0]] = append(x.firsts[t.base[0]], id)
	}
	w := &x.words[id]
	if n := len(w.tools); n == 0 || w.tools[n-1] != tool {
		w.tools = append(w.tools, tool)
	}
	return id
}

// strip takes the server's words out of a name, as long as something that
// names an object stays.
func (x *index) strip(words []token) []token {
	if len(x.server) == 0 || len(words) < 2 {
		return words
	}
	objects := 0
	for _, w := range words {
		if !x.server[w.text] && !x.server[w.base] && w.lex.class == contentWord && (w.lex.verb == 0 || w.lex.noun) {
			objects++
		}
	}
	var out []token
	for i, w := range words {
		// At the head it is a namespace; elsewhere it may be the object.
		if (x.server[w.text] || x.server[w.base]) && (objects > 0 || i == 0 && len(words) == 2 && words[1].lex.verb != 0) {
			if out == nil {
				out = append(make([]token, 0, len(words)), words[:i]...)
			}
			continue
		}
		if out != nil {
			out = append(out, w)
		}
	}
	if out == nil {
		return words
	}
	if len(out) == 0 {
		return words
	}
	return out
}

// bare is the fold of a name without the words that carry no meaning in this
// catalog: the server's, the head that all tools share, and articles.
func (x *index) bare(words []string) string {
	var b strings.Builder
	rest := words[x.headed(words):]
	for i, w := range rest {
		if w == "a" || w == "an" || w == "the" {
			continue
		}
		if i == 0 && len(rest) > 1 && x.server[w] {
			continue
		}
		b.WriteString(w)
	}
	return b.String()
}

// headed returns how many words at the beginning are the head that all tools
// share, or the end of that head, leaving at least one word.
func (x *index) headed(words []string) int {
	for from := 0; from < len(x.common); from++ {
		n := len(x.common) - from
		if len(words) > n && slices.Equal(words[:n], x.common[from:]) {
			return n
		}
	}
	return 0
}

// actionsIn returns the ends of a name that begin with an action, behind words
// that are a namespace: "execute_javascript" in "QuickJS_execute_javascript".
func (l *lexicon) actionsIn(name string) []string {
	for i := 1; i+1 < len(name); i++ {
		if name[i] != '_' && name[i] != '-' {
			continue
		}
		head, rest := split(name[:i]), split(name[i+1:])
		if len(rest) < 2 {
			return nil
		}
		if w := head[len(head)-1:]; len(w) == 1 && l.acts(w[0]) {
			return nil
		}
		if l.acts(rest[0]) {
			return []string{name[i+1:]}
		}
	}
	return nil
}

// acts reports whether a word is an action and nothing else.
func (l *lexicon) acts(w string) bool {
	lx := l.words[w]
	return lx != nil && lx.verb != 0 && !lx.noun
}

const descriptionWords = 40 // of a description that are read

func (e *entry) describe(x *index, t *mcp.Tool, i int32) {
	e.params = make(map[string]bool)
	e.needs = make(map[string]bool)
	e.desc = make(map[string]bool)
	names, required := schemaNames(t.InputSchema)
	for k, name := range names {
		ws := split(name)
		for _, w := range ws {
			base, _ := singular(w)
			e.params[base] = true
		}
		if required[k] {
			for _, t := range x.lex.join(ws) {
				e.needs[x.lex.canonical(t.base)] = true
			}
		}
		if !required[k] {
			continue
		}
		e.required++
		switch joined := strings.Join(ws, ""); joined {
		case "action", "operation", "method", "command", "mode", "subcommand":
			e.several = true
		case "id", "uid", "uuid", "key", "name", "slug", "number", "identifier", "ids", "names", "keys", "index", "sha", "hash", "login", "username", "uri":
			e.ownID = true
		case "query", "q", "search", "pattern", "term", "keyword", "keywords", "searchterm", "searchquery", "text", "filter":
			e.needsQuery = true
			e.ownID = e.ownID || joined == "query" // to fetch one by whatever identifies it
		default:
			if len(ws) >= 2 {
				last := ws[len(ws)-1]
				if strings.HasSuffix(last, "id") || last == "sha" || last == "key" || last == "number" || last == "name" || last == "slug" || last == "ids" || last == "names" {
					owner, _ := singular(strings.Join(ws[:len(ws)-1], ""))
					if e.head >= 0 {
						h := e.words[e.head].base
						e.ownID = e.ownID || h == owner || strings.HasSuffix(owner, h) || strings.HasPrefix(owner, h) || strings.HasPrefix(h, owner) || x.lex.canonical(h) == x.lex.canonical(owner)
					}
				}
			} else if len(joined) > 3 && strings.HasSuffix(joined, "id") || e.head >= 0 && joined == e.words[e.head].base {
				e.ownID = true
			}
		}
	}
	text := t.Description
	if len(text) > 2000 {
		text = text[:2000]
	}
	if text == "" {
		text = t.Title
	}
	e.read(x, text, i)
}

// read takes from a description its words, its action and its object: in
// "Finds issues of a board" finding, and issues.
func (e *entry) read(x *index, text string, i int32) {
	count, object := 0, true
	for len(text) > 0 && count < descriptionWords {
		n := strings.IndexFunc(text, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 127)
		})
		var w string
		stop := false
		switch n {
		case 0:
			stop = strings.ContainsRune(".,;:(", rune(text[0]))
			text = text[1:]
			if stop && e.object != "" {
				object = false
			}
			continue
		case -1:
			w, text = text, ""
		default:
			w, text = text[:n], text[n:]
		}
		count++
		w = strings.ToLower(w)
		base, _ := singular(w)
		lx := x.lex.words[base]
		if lx == nil {
			lx = noLexeme
		}
		if count == 1 {
			v := lx.verb
			if v == 0 {
				if lx2 := x.lex.words[w]; lx2 != nil {
					v = lx2.verb
				}
			}
			e.descVerb = v
			if v != 0 && (!lx.noun || base != w) {
				e.desc[descKey(base)] = true
				x.descs[descKey(base)] = append(x.descs[descKey(base)], i)
				continue
			}
		}
		switch w {
		case "of", "and", "or", "that", "which", "who", "whose", "not", "when", "where", "how", "is", "are":
			if e.object != "" {
				object = false
			}
			continue
		}
		switch lx.class {
		case fillerWord:
			continue
		case prepositionWord:
			if e.object != "" {
				object = false
			}
			continue
		}
		if object && lx.class != adjectiveWord && !(lx.class == genericWord && lx.info) && base != "one" && base != "content" {
			e.object, e.objects = base, base != w
		}
		key := descKey(base)
		if !e.desc[key] {
			e.desc[key] = true
			x.descs[key] = append(x.descs[key], i)
		}
	}
}

// descKey is the form in which words of descriptions are compared.
func descKey(base string) string {
	if s := stem(base); s != "" {
		return s
	}
	return base
}

func (x *index) finish() {
	n := float64(len(x.entries))
	for id := range x.words {
		w := &x.words[id]
		w.idf = float32(math.Log((n + 1) / (float64(len(w.tools)) + .5)))
	}
	// Which nouns does this catalog narrow, and by what? Which words tell two of
	// its tools apart?
	holes := make(map[string]slot, 3*len(x.entries))
	for i := range x.entries {
		e := &x.entries[i]
		for j := range e.words {
			put(holes, e.hole(j), int32(i))
		}
	}
	first := map[int32]int{}
	for i := range x.entries {
		if e := &x.entries[i]; e.verb == 1 && e.head > 1 && e.words[0].lex.verb == 0 {
			first[e.ids[0]]++
		}
	}
	for i := range x.entries {
		e := &x.entries[i]
		for j := range e.words {
			if holes[e.hole(j)].many {
				e.telling |= 1 << j
			}
		}
		// jira_create_issue, jira_search: before the action stands whose it is.
		if e.verb == 1 && first[e.ids[0]] >= 2 {
			e.space = true
			if e.head == 0 {
				e.head = -1
			}
		}
		if e.head < 0 {
			continue
		}
		m := modifiers{entry: int32(i)}
		for j := range e.words {
			if j != e.verb && j != e.head && e.words[j].lex.class == contentWord {
				m.words = append(m.words, e.ids[j])
			}
		}
		x.headMod[e.ids[e.head]] = append(x.headMod[e.ids[e.head]], m)
		w := &x.words[e.ids[e.head]]
		if w.forms == nil {
			w.forms = make(map[string]uint8, 2)
		}
		if e.plural {
			w.forms[x.action(e)] |= 1
		} else {
			w.forms[x.action(e)] |= 2
		}
		if e.verb >= 0 {
			w.forms["="+e.words[e.verb].text] |= 1
		}
	}
}

// hole is a tool's name with the word at j left open.
func (e *entry) hole(j int) string {
	var b strings.Builder
	for k, w := range e.words {
		if k == j && k == e.verb {
			b.WriteByte('!')
		} else if k == j {
			b.WriteByte('?')
		} else {
			b.WriteString(w.base)
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// action names what a tool does: its family and, for reading, which kind.
func (x *index) action(e *entry) string {
	if e.verb < 0 {
		return ""
	}
	v := x.lex.verbs[e.words[e.verb].lex.verb]
	return v.family + v.sub
}

// A phrase is how the words of a name belong together.
type phrase struct {
	verb   int // position of the action, -1 if none
	more   int // further verbs joined to it
	head   int // position of the noun that the others narrow, -1 if none
	plural bool
}

// parse finds the action and the object of a name.
func (l *lexicon) parse(words []token) phrase {
	p := phrase{verb: -1, head: -1}
	clear := func(i int) bool { return words[i].lex.verb != 0 && !words[i].lex.noun && !words[i].plural }
	n := len(words)
	if n == 0 {
		return p
	}
	switch {
	case clear(0):
		p.verb = 0
	case n > 1 && (clear(n-1) || words[n-1].lex.verb != 0 && words[n-1].text != "" && actionAtEnd[words[n-1].text]):
		p.verb = n - 1
	default:
		for i := 1; i < n-1 && p.verb < 0; i++ {
			if clear(i) || words[i].lex.verb != 0 && actionAtEnd[words[i].text] && words[i+1].lex.class == prepositionWord {
				p.verb = i
			}
		}
		if p.verb < 0 && words[0].lex.verb != 0 && !words[0].plural {
			p.verb = 0 // a word that may be either is the action if it comes first
		}
	}
	for i := range words {
		if i != p.verb && clear(i) && i > 0 && words[i].lex.class == contentWord {
			p.more++
		}
	}
	l.head(words, &p)
	return p
}

// parseThing reads a name as one that names a thing alone.
func (l *lexicon) parseThing(words []token) phrase {
	p := phrase{verb: -1, head: -1}
	l.head(words, &p)
	return p
}

// head finds the noun that the other words narrow.
func (l *lexicon) head(words []token, p *phrase) {
	n := len(words)
	end := n
	for i := 1; i < n; i++ {
		if words[i].lex.class == prepositionWord && i != p.verb {
			if p.verb == n-1 && i > 0 || p.verb < i {
				end = i
				break
			}
		}
	}
	pick := func(generic bool) bool {
		for i := end - 1; i >= 0; i-- {
			c := words[i].lex.class
			if i == p.verb || c == fillerWord || c == prepositionWord || c == adjectiveWord || c == genericWord && !generic {
				continue
			}
			p.head, p.plural = i, words[i].plural
			return true
		}
		return false
	}
	if !pick(false) {
		pick(true)
	}
}

// actionAtEnd are words that are the action when they stand last:
// issue_search, cookie_list.
var actionAtEnd = setOf("list search query get set view upload export import copy filter count sort lookup checkout clone book merge fork reset transfer")

func setOf(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}
