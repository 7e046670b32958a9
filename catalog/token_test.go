package catalog

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func words(text string, singles bool) []string {
	var tok tokeniser
	out := []string{}
	for _, t := range tok.appendTokens(nil, text, singles) {
		out = append(out, t.text)
	}
	return out
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"10-K":                  {"10", "10k"},
		"13D/A":                 {"13d", "13da"},
		"H-1B h1b":              {"1b", "h1b", "h1b"},
		"days-to-cover":         {"days", "to", "cover", "daystocover"},
		"paperId":               {"paper", "id", "paperid"},
		"HTMLFile":              {"html", "file", "htmlfile"},
		"list_pull_requests":    {"list", "pull", "requests", "listpullrequests"},
		"mcp__srv-x__sendFile":  {"mcp", "srv", "send", "file", "mcpsrvxsendfile"}, // B240: names are data, not patterns
		"S&P P/E":               {"sp", "pe"},
		"the company's, don’t":  {"the", "company", "don"},
		"v1.2.3":                {"v1", "v123"},
		"a I x":                 {},
		"  ":                    {},
		"查询天气 API天":             {"查询", "询天", "天气", "api", "天"},
		"Äpfel, ΔΕΛΤΑ":          {"äpfel", "δελτα"},
		"-end. ..x.. /v1/{id}/": {"end", "v1", "id"},
	} {
		require.Equal(t, want, words(text, false), text)
	}
	require.Equal(t, []string{"10", "k"}, words("10 K", true))
	require.Empty(t, words(strings.Repeat("x", maxWordBytes+1), false), "a word without end is none")
}

func TestClip(t *testing.T) {
	t.Parallel()
	require.Equal(t, "ab", clip("abc", 2))
	require.Equal(t, "a", clip("aé", 2), "no half characters")
	require.Equal(t, "", clip("é", 1))
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"10-K", "paperId", "H-1B", "a\xffb", "x’s", "٣-٤", "日本語", "A.B.C...D"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var tok tokeniser
		parts := 0
		for _, k := range tok.appendTokens(nil, text, true) {
			if k.text == "" || len(k.text) > 2*maxWordBytes || utf8.ValidString(text) && !utf8.ValidString(k.text) {
				t.Fatalf("token %q of %q", k.text, text)
			}
			if k.compound {
				if k.parts > parts {
					t.Fatalf("compound %q of %q has %d parts of %d", k.text, text, k.parts, parts)
				}
			} else {
				parts++
			}
		}
	})
}
