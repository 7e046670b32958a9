package catalog

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
)

const (
	maxGapWords   = 2000
	maxGapReports = 500
)

// gaps counts what the catalog lacks: words that matched nothing, and
// feedback. It is kept in memory only and bounded; what holds anything but
// letters, or more than 32 bytes, could be a value and is not kept.
type gaps struct {
	mu      sync.Mutex
	asked   int
	nothing int
	weak    int
	words   map[string]*gapWord
	reports map[[2]string]int // endpoint and category
	lost    int               // words that made room for others
}

type gapWord struct{ times, withoutHits int }

func (g *gaps) note(r *Result) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	if len(r.Hits) == 0 {
		g.nothing++
	} else if r.Weak {
		g.weak++
	}
	for _, word := range r.Unmatched {
		if len(word) > 32 || strings.ContainsFunc(word, func(c rune) bool { return !unicode.IsLetter(c) }) {
			continue
		}
		w := g.words[word]
		if w == nil {
			if len(g.words) >= maxGapWords {
				g.makeRoom()
			}
			if g.words == nil {
				g.words = map[string]*gapWord{}
			}
			w = &gapWord{}
			g.words[word] = w
		}
		w.times++
		if len(r.Hits) == 0 {
			w.withoutHits++
		}
	}
}

// makeRoom forgets the words that were asked for least, so that what many miss
// is counted even after thousands of words that nobody asks for again.
func (g *gaps) makeRoom() {
	least := math.MaxInt
	for _, w := range g.words {
		least = min(least, w.times)
	}
	for word, w := range g.words {
		if w.times == least {
			delete(g.words, word)
			g.lost++
		}
	}
}

func (g *gaps) report(endpoint, category string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := [2]string{endpoint, category}
	if g.reports == nil {
		g.reports = map[[2]string]int{}
	}
	if _, ok := g.reports[key]; ok || len(g.reports) < maxGapReports {
		g.reports[key]++
	}
}

// Gaps writes what an operator should curate: the words of questions that
// matched nothing, most frequent first, and the feedback by endpoint. Words
// that people use for what is there belong into an entry's terms or into the
// vocabulary; the rest is what they miss. It holds what was asked since the
// Catalog was made.
func (c *Catalog) Gaps(w io.Writer) error {
	g := &c.gaps
	g.mu.Lock()
	defer g.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d questions: %d found nothing, %d only weak hits\n", g.asked, g.nothing, g.weak)
	words := slices.SortedFunc(maps.Keys(g.words), func(x, y string) int {
		return cmp.Or(cmp.Compare(g.words[y].times, g.words[x].times), strings.Compare(x, y))
	})
	if len(words) > 0 {
		b.WriteString("\nwords that matched nothing (times, of which without any hit)\n")
	}
	for _, word := range words {
		fmt.Fprintf(&b, "  %-24s %5d %5d\n", word, g.words[word].times, g.words[word].withoutHits)
	}
	if g.lost > 0 {
		fmt.Fprintf(&b, "  and %d more that were not kept\n", g.lost)
	}
	reports := slices.SortedFunc(maps.Keys(g.reports), func(x, y [2]string) int {
		return cmp.Or(cmp.Compare(g.reports[y], g.reports[x]), strings.Compare(x[0], y[0]), strings.Compare(x[1], y[1]))
	})
	if len(reports) > 0 {
		b.WriteString("\nfeedback (endpoint, category, times)\n")
	}
	for _, r := range reports {
		fmt.Fprintf(&b, "  %-32s %-12s %5d\n", r[0], r[1], g.reports[r])
	}
	_, err := io.WriteString(w, b.String())
	return err
}
