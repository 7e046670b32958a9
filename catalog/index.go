package catalog

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// A Field is a part of an entry that is searched.
type Field string

// The fields of an entry that are searched.
const (
	FieldID          Field = "id"
	FieldTitle       Field = "title"
	FieldTerms       Field = "terms"
	FieldTags        Field = "tags"
	FieldSummary     Field = "summary"
	FieldSignal      Field = "signal"
	FieldDescription Field = "description"
	FieldParameters  Field = "parameters" // names and permitted values
	FieldParamTexts  Field = "parameter texts"
	FieldExample     Field = "example"
	FieldPath        Field = "path"
)

// fields gives each field a small number.
var fields = [...]struct {
	field  Field
	length float64 // how strongly a long text is discounted, the b of BM25
	about  bool    // a code in it tells what the entry is about
}{
	{FieldID, .4, true}, {FieldTitle, .4, true}, {FieldTerms, .3, true}, {FieldTags, .3, true}, {FieldSummary, .4, true},
	{FieldSignal, .5, false}, {FieldDescription, .4, false}, {FieldParameters, .5, false}, {FieldParamTexts, .5, false},
	{FieldExample, .5, false}, {FieldPath, .3, false},
}

// Weights says how much an occurrence of a word counts in each field. A field
// that is missing counts nothing.
type Weights map[Field]float64

// DefaultWeights returns the weights that were best over several catalogs.
// Their exact values hardly matter: all of them equal costs one to two
// questions in a hundred.
func DefaultWeights() Weights {
	return Weights{
		FieldID: 3, FieldTitle: 2, FieldTerms: 4, FieldTags: 4, FieldSummary: 3, FieldSignal: 3,
		FieldDescription: .7, FieldParameters: .7, FieldParamTexts: .5, FieldExample: .5, FieldPath: 1,
	}
}

const saturation = 3 // k1 of BM25

// A posting says how strongly one entry has a term.
type posting struct {
	entry     int32
	field     uint8   // the one that contributes most
	saturated float32 // tf/(k1+tf), below 1
}

// An Index finds entries. It does not change after [NewIndex] and is safe for
// concurrent use.
type Index struct {
	entries      []Entry
	intents      []intent
	terms        map[string]int32 // stem to number
	stems        []string         // number to stem
	sorted       []string
	idf          []float64
	postings     [][]posting
	surfaces     []surface
	byID         map[string]int32
	exact        map[string][]int32 // collapsed id or title to entries
	collapsedIDs []string
	opts         IndexOptions
	scratch      scratchPool
}

// A surface is a word as it is written in the catalog, for typos.
type surface struct {
	text string
	mask uint32
	term int32
}

// IndexOptions configures an [Index]. The zero value is ready to use.
type IndexOptions struct {
	// Weights of the fields. If nil, those of [DefaultWeights].
	Weights Weights
	// Expander relates words. If nil, [General]. See [NoExpansion].
	Expander Expander
	// Scorer, if non-nil, changes the scores.
	Scorer Scorer
	// Floor is the confidence, from 0 to 1, under which nothing is returned.
	// If zero, 0.26; if negative, there is none. For a catalog of
	// fewer than 60 entries it is lowered in proportion.
	Floor float64
	// WeakFloor is the confidence under which hits are marked weak. If zero,
	// 0.45; if negative, none are.
	WeakFloor float64
}

// NewIndex returns an index of entries. A nil opts means the zero options. The
// entries must not be changed afterwards.
func NewIndex(entries []Entry, opts *IndexOptions) *Index {
	x := &Index{
		entries: entries,
		intents: make([]intent, len(entries)),
		terms:   map[string]int32{},
		byID:    make(map[string]int32, len(entries)),
		exact:   map[string][]int32{},
	}
	if opts != nil {
		x.opts = *opts
	}
	if x.opts.Weights == nil {
		x.opts.Weights = DefaultWeights()
	}
	if x.opts.Expander == nil {
		x.opts.Expander = General()
	}
	x.opts.Floor = orDefault(x.opts.Floor, defaultFloor)
	x.opts.WeakFloor = orDefault(x.opts.WeakFloor, defaultWeakFloor)
	x.build()
	return x
}

func orDefault(v, zero float64) float64 {
	switch {
	case v == 0:
		return zero
	case v < 0:
		return 0
	}
	return v
}

// An occurrence counts one term in one field of one entry.
type occurrence struct {
	term  int32
	entry int32
	field uint8
	count int32
}

func (x *Index) build() {
	var weights [len(fields)]float64
	for i, f := range fields {
		weights[i] = x.opts.Weights[f.field]
	}
	tok := &tokeniser{stems: map[string]string{}}
	surfaces := map[string]int32{}
	var occurrences []occurrence
	lengths := make([][len(fields)]int32, len(x.entries))
	var total [len(fields)]float64
	var having [len(fields)]float64
	var tokens []token
	counts := map[int32]int32{}
	for n := range x.entries {
		e := &x.entries[n]
		x.byID[e.ID] = int32(n)
		id, title := collapse(e.ID), collapse(e.Title)
		x.collapsedIDs = append(x.collapsedIDs, id)
		x.exact[id] = append(x.exact[id], int32(n))
		if title != "" && title != id {
			x.exact[title] = append(x.exact[title], int32(n))
		}
		x.intents[n] = entryIntent(tok, e)
		for f, text := range fieldTexts(e) {
			if text == "" {
				continue
			}
			clear(counts)
			tokens = tok.appendTokens(tokens[:0], clip(text, maxFieldBytes), false)
			length := int32(0)
			for _, t := range tokens {
				if f != 0 && stopWords[t.text] {
					continue
				}
				term, ok := x.terms[t.stem]
				if !ok {
					term = int32(len(x.terms))
					x.terms[t.stem] = term
					x.stems = append(x.stems, t.stem)
				}
				if counts[term] == 0 {
					occurrences = append(occurrences, occurrence{term: term, entry: int32(n), field: uint8(f)})
				}
				counts[term]++
				if !t.compound {
					length++
				}
				if !hasDigit(t.text) {
					surfaces[t.text] = term
				}
			}
			for i := len(occurrences) - 1; i >= 0 && occurrences[i].entry == int32(n) && occurrences[i].field == uint8(f); i-- {
				occurrences[i].count = counts[occurrences[i].term]
			}
			lengths[n][f] = length
			if length > 0 {
				total[f] += float64(length)
				having[f]++
			}
		}
	}
	slices.SortFunc(occurrences, func(a, b occurrence) int {
		return cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(a.entry, b.entry), cmp.Compare(a.field, b.field))
	})
	x.postings = make([][]posting, len(x.terms))
	x.idf = make([]float64, len(x.terms))
	all := make([]posting, 0, len(occurrences))
	for i := 0; i < len(occurrences); {
		term := occurrences[i].term
		first := len(all)
		for i < len(occurrences) && occurrences[i].term == term {
			p := posting{entry: occurrences[i].entry}
			var tf, most float64
			for ; i < len(occurrences) && occurrences[i].term == term && occurrences[i].entry == p.entry; i++ {
				o := occurrences[i]
				b := fields[o.field].length
				w := weights[o.field] * float64(o.count) / (1 - b + b*float64(max(lengths[o.entry][o.field], 1))/(total[o.field]/having[o.field]))
				tf += w
				if w > most {
					most, p.field = w, o.field
				}
			}
			p.saturated = float32(tf / (saturation + tf))
			if tf > 0 {
				all = append(all, p)
			}
		}
		x.postings[term] = all[first:len(all):len(all)]
		x.idf[term] = inverseFrequency(len(x.entries), len(all)-first)
	}
	x.sorted = slices.Clone(x.stems)
	slices.Sort(x.sorted)
	x.surfaces = make([]surface, 0, len(surfaces))
	for text, term := range surfaces {
		x.surfaces = append(x.surfaces, surface{text, letterMask(text), term})
	}
	slices.SortFunc(x.surfaces, func(a, b surface) int {
		return cmp.Or(cmp.Compare(len(a.text), len(b.text)), strings.Compare(a.text, b.text))
	})
}

func inverseFrequency(entries, having int) float64 {
	n, df := float64(entries), float64(having)
	return math.Log(1 + (n-df+.5)/(df+.5))
}

// fieldTexts returns the text of each of fields.
func fieldTexts(e *Entry) [len(fields)]string {
	names, texts := schemaTexts(e.Parameters)
	return [...]string{
		e.ID, e.Title, strings.Join(e.Terms, "\n"), strings.Join(e.Tags, "\n"), e.Summary, e.Signal,
		e.Description, names, texts, exampleText(e.Example), e.Path,
	}
}

// entryIntent reads the first verb of the id, else of the summary. An endpoint
// that can only read needs none.
func entryIntent(tok *tokeniser, e *Entry) intent {
	if e.Method == "GET" || e.Method == "HEAD" {
		return intentAnswer
	}
	for _, text := range []string{e.ID, e.Summary} {
		for i, t := range tok.appendTokens(nil, clip(text, 128), false) {
			if in := intents[t.stem]; in != intentNone {
				return in
			}
			if i == 3 {
				break
			}
		}
	}
	return intentNone
}

// schemaTexts returns the names and enumerated values of a schema's
// properties, and their titles and descriptions.
func schemaTexts(schema json.RawMessage) (names, texts string) {
	if len(schema) == 0 {
		return "", ""
	}
	var n, t strings.Builder
	walkSchema(schema, 0, &n, &t)
	return n.String(), t.String()
}

func walkSchema(schema json.RawMessage, depth int, names, texts *strings.Builder) {
	var s struct {
		Properties  map[string]json.RawMessage `json:"properties"`
		Items       json.RawMessage            `json:"items"`
		Title       any                        `json:"title"`
		Description any                        `json:"description"`
		Enum        []any                      `json:"enum"`
	}
	if depth > 4 || names.Len()+texts.Len() > 2*maxFieldBytes || json.Unmarshal(schema, &s) != nil {
		return
	}
	if depth > 0 {
		writeText(texts, s.Title)
		writeText(texts, s.Description)
	}
	for _, v := range s.Enum {
		writeText(names, v)
	}
	for _, name := range sortedKeys(s.Properties) {
		writeText(names, name)
		walkSchema(s.Properties[name], depth+1, names, texts)
	}
	if len(s.Items) > 0 {
		walkSchema(s.Items, depth+1, names, texts)
	}
}

func writeText(b *strings.Builder, v any) {
	if s, ok := v.(string); ok {
		b.WriteString(s)
		b.WriteByte('\n')
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func exampleText(example json.RawMessage) string {
	if len(example) == 0 {
		return ""
	}
	var values map[string]any
	if json.Unmarshal(example, &values) != nil {
		return ""
	}
	var b strings.Builder
	for _, k := range sortedKeys(values) {
		writeText(&b, values[k])
	}
	return b.String()
}
