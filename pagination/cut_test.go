package pagination

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func items(n int, each string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(each+",", n), ",") + "]"
}

func TestCutJSON(t *testing.T) {
	t.Parallel()
	random := strings.Repeat("aB3/", 200)
	for _, tt := range []struct {
		name   string
		in     string
		budget int
		want   string // "" if nothing fits
		cut    string // as a note describes the main one
	}{
		{"whole", `{"a":[1,2,3]}`, 13, `{"a":[1,2,3]}`, ""},
		{"items are dropped from the end", `{"a":[1,2,3],"b":1}`, 17, `{"a":[1,2],"b":1}`, "2 of 3 items of /a"},
		{"an array alone", `[10,20,30]`, 7, `[10,20]`, "2 of 3 items"},
		{"down to none", `[100]`, 3, `[]`, "0 of 1 items"},
		{"not even brackets", `[100]`, 1, ``, ""},
		{"the long one, not the short one", `{"short":[1,2],"long":` + items(50, "1234") + `}`, 50, `{"short":[1,2],"long":[1234,1234,1234,1234,1234]}`, "5 of 50 items of /long"},
		{"nested", `{"data":{"rows":` + items(20, `{"n":1}`) + `},"total":20}`, 60, `{"data":{"rows":[{"n":1},{"n":1},{"n":1}]},"total":20}`, "3 of 20 items of /data/rows"},
		{"columns stay a table", `{"day":` + items(9, `"2026-01-01"`) + `,"open":` + items(9, "1") + `,"close":` + items(9, `1234567`) + `}`, 115,
			`{"day":["2026-01-01","2026-01-01"],"open":[1,1],"close":[1234567,1234567]}`, "2 of 9 items of /day"},
		{"one item too much is shortened", `{"items":[{"id":7,"text":"` + strings.Repeat("word ", 40) + `"}]}`, 80,
			`{"items":[{"id":7,"text":"word word word word word word … [170 more bytes]"}]}`, "30 of 200 characters of /items/0/text"},
		{"not inside an escape", `"` + strings.Repeat(`\n`, 40) + `"`, 33, `"\n\n\n\n\n\n… [68 more bytes]"`, "12 of 80 characters"},
		{"not inside a pair of escapes", `"` + strings.Repeat(`\ud83d\ude00`, 9) + `"`, 41, `"\ud83d\ude00… [96 more bytes]"`, "12 of 108 characters"},
		{"not inside a rune", `"` + strings.Repeat(`é`, 40) + `"`, 26, `"éé… [76 more bytes]"`, "4 of 80 characters"},
		{"base64 goes as a whole", `{"data":"` + random + `"}`, 60, `{"data":"[base64 text of 800 bytes left out]"}`, "0 of 800 characters of /data"},
		{"a data URL too", `"data:image/png;base64,` + random + `"`, 60, `"[base64 text of 822 bytes left out]"`, "0 of 822 characters"},
		{"numbers keep their digits", `[9007199254740993,1.0,1e2,` + strings.Repeat("1,", 40) + `1]`, 32, `[9007199254740993,1.0,1e2,1,1,1]`, "6 of 44 items"},
		{"fields go when there is nothing else", `{"a":1,"b":22222222,"c":3}`, 20, `{"a":1,"b":22222222}`, "2 of 3 fields"},
		{"a long number cannot be cut", strings.Repeat("1", 50), 20, ``, ""},
		{"no JSON", `[1,2`, 3, ``, ""},
		{"no JSON either", `{"a" 1, "b": 2}`, 5, ``, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, cuts, ok := cutJSON(tt.in, rawCosts, tt.budget, false)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want != "", ok)
			if tt.cut == "" {
				require.Empty(t, cuts)
				return
			}
			require.Equal(t, tt.cut, mainCut(cuts).describe())
			require.True(t, json.Valid([]byte(got)))
		})
	}
}

func TestCutJSONWholeStrings(t *testing.T) {
	t.Parallel()
	in := `{"items":[{"id":"` + strings.Repeat("x", 50) + `"}]}`
	got, _, ok := cutJSON(in, rawCosts, 40, true)
	require.True(t, ok)
	require.Equal(t, `{"items":[]}`, got)
}

// checkCut holds for every JSON text and budget.
func checkCut(t require.TestingT, in string, costs *costs, budget int, whole bool) {
	got, cuts, ok := cutJSON(in, costs, budget, whole)
	if !ok {
		require.Empty(t, got)
		return
	}
	require.LessOrEqual(t, costs.cost(got, math.MaxInt-1), budget)
	if !json.Valid([]byte(in)) {
		return
	}
	require.True(t, json.Valid([]byte(got)), "%q", got)
	if len(cuts) == 0 { // perhaps the space between tokens was all that was too much
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, []byte(in)))
		in = compact.String()
		compact.Reset()
		require.NoError(t, json.Compact(&compact, []byte(got)))
		require.Equal(t, in, compact.String())
	}
	if utf8.ValidString(in) {
		require.True(t, utf8.ValidString(got))
	}
	for _, c := range cuts {
		require.Less(t, c.shown, c.total)
	}
}

func TestCutJSONProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := marshal(rt, jsonValue(4).Draw(rt, "value"))
		budget := rapid.IntRange(0, len(in)*2).Draw(rt, "budget")
		costs := rapid.SampledFrom([]*costs{rawCosts, textCosts, bothCosts}).Draw(rt, "costs")
		checkCut(rt, in, costs, budget, rapid.Bool().Draw(rt, "whole"))
	})
}

// TestCutJSONUsesTheRoom: where there are items to drop, no more of them go
// than must.
func TestCutJSONUsesTheRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(rt, "n")
		in := fmt.Sprintf(`{"total":%d,"rows":%s}`, n, items(n, `{"id":1234,"name":"somebody"}`))
		budget := rapid.IntRange(60, len(in)-1+60).Draw(rt, "budget")
		got, _, ok := cutJSON(in, rawCosts, budget, false)
		require.True(rt, ok)
		require.Greater(rt, len(got), min(budget, len(in))-31)
	})
}

func TestCutText(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("a line of text\n", 20)
	long := strings.Repeat("aB3/", 300)
	for _, tt := range []struct {
		name, in, want string
		budget         int
	}{
		{"whole", "abc", "abc", 3},
		{"on a line", lines, strings.Repeat("a line of text\n", 9), 150},
		{"on a rune", strings.Repeat("é", 50), "ééé", 7},
		{"escapes count", strings.Repeat("\n", 50), "\n\n\n", 7},
		{"not inside base64", "An image: " + long, "An image: ", 600},
		{"a long word is no base64", strings.Repeat("a", 900), strings.Repeat("a", 600), 600},
		{"not inside a pair of escapes", strings.Repeat(`\ud83d\ude00 `, 20), `\ud83d\ude00 \ud83d\ude00 `, 35},
		{"nothing", "é", "", 1},
		{"not UTF-8", "\xff\xff\xff", "\xff", 11},
	} {
		got, what := cutText(tt.in, tt.budget)
		require.Equal(t, tt.want, got, tt.name)
		require.Equal(t, len(got), what.shown, tt.name)
		require.Equal(t, len(tt.in), what.total, tt.name)
	}
}

func FuzzCut(f *testing.F) {
	for _, s := range []string{`{"items":[1,2,3],"next":null}`, `[[[[1,2],[3]]]]`, `{"a":"\ud83d\ude00\\"}`, "[1,", `{"a":{"b":[1,{"c":"ddddddddddddddddddddd"}]}}`, `"` + strings.Repeat("aB3/", 100) + `"`, "{\"\xff\":\"\u2028<\"}", `[}`, `{"":[{"":""}]}`} {
		f.Add(s, 10)
		f.Add(s, 60)
	}
	f.Fuzz(func(t *testing.T, in string, budget int) {
		budget %= 1 << 16
		for _, c := range []*costs{rawCosts, bothCosts} {
			checkCut(t, in, c, budget, false)
		}
		checkCut(t, in, textCosts, budget, true)
		text, _ := cutText(in, budget)
		require.LessOrEqual(t, textCosts.cost(text, math.MaxInt-1), max(budget, 0))
		require.True(t, strings.HasPrefix(in, text))
		sameJSON(in, `{"a":[1]}`)
		hasLongInteger(in)
		if isComposite(trimSpace(in)) {
			resolvePointer(in, "/a/0")
		}
	})
}
