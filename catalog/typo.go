package catalog

import (
	"math/bits"
	"sort"
)

// letterMask has a bit for each letter that a word has.
func letterMask(word string) uint32 {
	var m uint32
	for i := 0; i < len(word); i++ {
		if c := word[i]; 'a' <= c && c <= 'z' {
			m |= 1 << (c - 'a')
		}
	}
	return m
}

// addCorrections takes a word that matches nothing for a misspelling of the nearest
// words of the catalog: one edit away, or two from seven letters on, where an
// edit is an insertion, a deletion, a substitution or a swap of neighbours.
// The first letter is taken to be right or swapped.
func (x *Index) addCorrections(w *questionWord) {
	word := w.text
	if len(word) < 4 {
		return
	}
	most := 1
	if len(word) >= 7 {
		most = 2
	}
	mask := letterMask(word)
	var edits edits
	from := sort.Search(len(x.surfaces), func(i int) bool { return len(x.surfaces[i].text) >= len(word)-most })
	for _, s := range x.surfaces[from:] {
		if len(s.text) > len(word)+most {
			break
		}
		if s.text[0] != word[0] && (s.text[0] != word[1] || s.text[1] != word[0]) {
			continue
		}
		// Each edit changes at most two letters of the set.
		if bits.OnesCount32(mask^s.mask) > 2*most || len(x.postings[s.term]) == 0 {
			continue
		}
		switch edits.distance(word, s.text, most) {
		case 0, 1:
			w.add(s.term, oneEditWeight, BySpelling)
		case 2:
			if most == 2 {
				w.add(s.term, twoEditWeight, BySpelling)
			}
		}
	}
}

// edits is the memory of a distance.
type edits struct{ rows [3][maxWordBytes + 1]int }

// distance returns the optimal string alignment distance of a and b, or more
// than most if it is more. Both are at most maxWordBytes long.
func (e *edits) distance(a, b string, most int) int {
	for j := 0; j <= len(b); j++ {
		e.rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		prev2, prev, row := &e.rows[(i+1)%3], &e.rows[(i-1)%3], &e.rows[i%3]
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			v := min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				v = min(v, prev2[j-2]+1)
			}
			row[j] = v
			least = min(least, v)
		}
		if least > most {
			return most + 1
		}
	}
	return e.rows[len(a)%3][len(b)]
}
