package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
)

//go:embed notes.jsonl
var notesFile []byte

// A paper is one entry of the knowledge base.
type paper struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Authors []string `json:"authors"`
	Year    int      `json:"year"`
	Kind    string   `json:"kind"`
	Tags    []string `json:"tags"`
	Added   string   `json:"added" jsonschema:"the day the paper was added, as 2006-01-02"`
	Text    string   `json:"text" jsonschema:"what the paper is about, and the reader's first impression"`
	Notes   []note   `json:"notes"`
}

// A note is something that was added to a paper later.
type note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Bounds of what a caller may add.
const (
	maxNoteBytes = 4000
	maxNotes     = 100 // of one paper
	maxTags      = 20  // of one paper
)

// A library is the knowledge base, all of it in memory.
type library struct {
	mu     sync.RWMutex
	papers []*paper // in the order in which they were added
	byID   map[string]*paper
	words  map[*paper]map[string]int // how much each word says about a paper
	noteNo int
}

func openLibrary() (*library, error) {
	l := &library{byID: map[string]*paper{}, words: map[*paper]map[string]int{}}
	decoder := json.NewDecoder(bytes.NewReader(notesFile))
	for decoder.More() {
		p := &paper{Notes: []note{}}
		if err := decoder.Decode(p); err != nil {
			return nil, fmt.Errorf("notes.jsonl: %w", err)
		}
		l.papers = append(l.papers, p)
		l.byID[p.ID] = p
		l.index(p)
	}
	return l, nil
}

// index notes the words of p, those of its title above all.
func (l *library) index(p *paper) {
	weights := map[string]int{}
	add := func(text string, weight int) {
		for _, w := range wordsOf(text) {
			weights[w] = max(weights[w], weight)
		}
	}
	add(p.Text, 1)
	for _, n := range p.Notes {
		add(n.Text, 1)
	}
	add(strings.Join(p.Authors, " "), 3)
	add(strings.Join(p.Tags, " "), 3)
	add(p.Title, 4)
	l.words[p] = weights
}

func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for i, w := range words {
		if len(w) > 3 {
			words[i] = strings.TrimSuffix(w, "s")
		}
	}
	return words
}

// search returns the papers that hold most of query's words, the best first,
// and how many there are.
func (l *library) search(query, tag string, limit int) ([]*paper, int) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	type hit struct {
		paper *paper
		score int
	}
	var hits []hit
	for _, p := range l.papers {
		if tag != "" && !slices.Contains(p.Tags, tag) {
			continue
		}
		score := 0
		for _, w := range wordsOf(query) {
			score += l.words[p][w]
		}
		if score > 0 {
			hits = append(hits, hit{p, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var found []*paper
	for _, h := range hits[:min(limit, len(hits))] {
		found = append(found, h.paper.copy())
	}
	return found, len(hits)
}

// recent returns the papers that were added last, the latest first.
func (l *library) recent(limit int) []*paper {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var found []*paper
	for _, p := range slices.Backward(l.papers) {
		if len(found) == limit {
			break
		}
		found = append(found, p.copy())
	}
	return found
}

func (l *library) get(id string) (*paper, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	p, ok := l.byID[id]
	if !ok {
		return nil, false
	}
	return p.copy(), true
}

// change lets f change the paper and returns what it is then.
func (l *library) change(id string, f func(*paper) error) (*paper, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.byID[id]
	if !ok {
		return nil, false, nil
	}
	if err := f(p); err != nil {
		return nil, true, err
	}
	l.index(p)
	return p.copy(), true, nil
}

// nextNoteID is called from inside change.
func (l *library) nextNoteID() string {
	l.noteNo++
	return fmt.Sprintf("n%d", l.noteNo)
}

// copy returns a paper that does not change any more.
func (p *paper) copy() *paper {
	c := *p
	c.Tags, c.Notes = slices.Clone(p.Tags), slices.Clone(p.Notes)
	return &c
}
