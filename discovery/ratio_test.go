package discovery

import (
	"slices"
	"strings"
	"testing"

	"github.com/agnivade/levenshtein"
	"github.com/stretchr/testify/require"
)

// TestRatio measures the usual advice on the same guesses: compare the whole
// names, lower-cased, by 1 - distance / length, and run the best from 0.7 on.
// docs/decisions.md has the figures.
func TestRatio(t *testing.T) {
	var guesses, ran, wrong, wrongWrite, sure, right int
	for _, s := range testServers(t) {
		for _, g := range s.guesses {
			guesses++
			best, ratio := s.tools[0], -1.0
			for _, tool := range s.tools {
				a, b := strings.ToLower(g.name), strings.ToLower(tool.Name)
				if r := 1 - float64(levenshtein.ComputeDistance(a, b))/float64(max(len(a), len(b))); r > ratio {
					best, ratio = tool, r
				}
			}
			if g.sure {
				sure++
			}
			if ratio < 0.7 {
				continue
			}
			ran++
			if g.sure && best.Name == g.tools[0] {
				right++
			}
			if !slices.Contains(g.tools, best.Name) { // as measure counts
				wrong++
				if !best.Annotations.ReadOnlyHint {
					wrongWrite++
				}
			}
		}
	}
	t.Logf("%d guesses: ran %d, right %d of %d sure ones, wrong %d, %d of them on tools that write", guesses, ran, right, sure, wrong, wrongWrite)
	require.Greater(t, wrong*10, ran, "wrong in more than one of ten runs")
}
