package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"filings", "filings", 0}, {"filngs", "filings", 1}, {"flilngs", "filings", 2}, {"tikcer", "ticker", 1},
		{"abcd", "acbd", 1}, {"abcdefg", "badcfeg", 3}, {"portfolio", "porfolo", 2}, {"wxyz", "abcd", 3},
	} {
		var e edits
		require.Equal(t, c.want, min(e.distance(c.a, c.b, 2), 3), c.a)
		require.Equal(t, c.want, min(e.distance(c.b, c.a, 2), 3), c.a)
	}
}

func TestCorrections(t *testing.T) {
	t.Parallel()
	x := NewIndex(desk, nil)
	require.Equal(t, "symbol-search", x.Search("tiker", 1).Hits[0].Entry.ID)
	require.Empty(t, x.Search("h1c", 1).Hits, "a code is not corrected")
	require.Empty(t, x.Search("xicker", 1).Hits, "the first letter is taken to be right")
	for _, h := range x.Search("city of a company", 3).Hits {
		for _, m := range h.Why {
			require.Equal(t, BySame, m.By, "what matches is not corrected: %v", m)
		}
	}
}
