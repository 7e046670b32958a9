package discovery

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
