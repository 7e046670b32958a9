package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseVocabulary(t *testing.T) {
	t.Parallel()
	v, err := ParseVocabulary("# comment\n\nreviewer, approver, sign off\nbroke -> bankruptcy, going under\n")
	require.NoError(t, err)
	expand := func(words ...string) []string {
		out := []string{}
		for _, e := range v.Expand(nil, words) {
			require.Greater(t, e.To, e.From)
			out = append(out, strings.Join(e.Words, " "))
		}
		return out
	}
	require.Equal(t, []string{"approv", "sign off"}, expand("review"))
	require.Equal(t, []string{"review", "approv"}, expand("to", "sign", "off"))
	require.Equal(t, []string{"bankruptci", "go under"}, expand("broke"))
	require.Empty(t, expand("bankruptci"), "an arrow has one direction")
	require.Empty(t, expand("sign"))

	for text, want := range map[string]string{
		"a,":                             "line 1: an empty word",
		"ok, fine\nalone":                "line 2: a group needs two words",
		"-> x":                           "line 1: an empty word",
		"one two three four five six, x": "line 1: a phrase of more than 5 words",
		strings.Repeat("x, y\n", maxVocabularyLen/4): "more than",
	} {
		_, err := ParseVocabulary(text)
		require.ErrorContains(t, err, want)
	}
}

func TestVocabularyCloseness(t *testing.T) {
	t.Parallel()
	v, err := ParseVocabulary("a1x, b1x\nc1x, d1x, e1x, f1x, g1x, h1x\nc1x, d1x, i1x, j1x, k1x, l1x")
	require.NoError(t, err)
	weight := func(word, other string) float64 {
		for _, e := range v.Expand(nil, []string{word}) {
			if e.Words[0] == other {
				return e.Weight
			}
		}
		return 0
	}
	require.Greater(t, weight("a1x", "b1x"), weight("c1x", "e1x"), "words of a small group are closer")
	require.Greater(t, weight("c1x", "d1x"), weight("c1x", "e1x"), "and so are words of two groups")
}

func TestGeneral(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, General().Expand(nil, []string{Stem("reviewer")}))
	require.Same(t, General(), General())
	require.Empty(t, NoExpansion.Expand(nil, []string{Stem("reviewer")}))
	lines := map[string]bool{}
	for _, line := range strings.Split(generalText, "\n") {
		require.False(t, line != "" && line[0] != '#' && lines[line], "twice: %s", line)
		lines[line] = true
	}
}

func TestExpanders(t *testing.T) {
	t.Parallel()
	own, err := ParseVocabulary("whirligig -> ticker")
	require.NoError(t, err)
	x := NewIndex(desk, &IndexOptions{Expander: Expanders(own, nil, General())})
	require.Equal(t, "symbol-search", x.Search("whirligig", 1).Hits[0].Entry.ID)
	require.Equal(t, "review_changes", x.Search("who has to sign off", 1).Hits[0].Entry.ID)
	require.Empty(t, NewIndex(desk, &IndexOptions{Expander: NoExpansion}).Search("whirligig", 1).Hits)
}

// A careless expander does no harm.
type careless struct{}

func (careless) Expand(dst []Expansion, question []string) []Expansion {
	return append(dst, Expansion{From: -1, To: 1, Words: []string{"ticker"}}, Expansion{From: 0, To: 99, Words: []string{"ticker"}},
		Expansion{From: 1, To: 0}, Expansion{From: 0, To: len(question), Weight: 17, Words: []string{"ticker"}}, Expansion{From: 0, To: 1})
}

func TestCarelessExpander(t *testing.T) {
	t.Parallel()
	x := NewIndex(desk, &IndexOptions{Expander: careless{}})
	require.Equal(t, "symbol-search", x.Search("zzz", 1).Hits[0].Entry.ID)
	require.Empty(t, x.Search("", 1).Hits)
}

// A code means itself.
func TestCodesAreNotExpanded(t *testing.T) {
	t.Parallel()
	v, err := ParseVocabulary("10k -> weather")
	require.NoError(t, err)
	x := NewIndex(desk, &IndexOptions{Expander: v})
	require.Equal(t, []string{"sec-filings"}, ids(x.Search("10k", 5)))
}

func FuzzParseVocabulary(f *testing.F) {
	for _, s := range []string{"a, b", "a -> b, c d", "#", "->", "a,,b", "x -> -> y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseVocabulary(text)
		if (v == nil) == (err == nil) {
			t.Fatalf("%v, %v", v, err)
		}
		if err == nil {
			v.Expand(nil, strings.Fields(text))
		}
	})
}
