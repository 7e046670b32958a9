package discovery

import (
	"math"
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
			if lx := x.lex.words[w]; (lx == nil || lx.verb == 0) && !(len(words) > 1 && kindOfServer[w]) {
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

// kindOfServer are words of server names that say what a server is, and may be
// things that another server is about.
var kindOfServer = setOf("server servers service services api app mcp tool tools client")

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
