package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// desk is a small catalog of several kinds.
var desk = []Entry{
	{ID: "sec-filings", Method: "GET", Path: "/v1/filings", Title: "Company filings", Summary: "List the 10-K and 10-Q filings of a company",
		Parameters: json.RawMessage(`{"type":"object","properties":{"symbol":{"type":"string","description":"Ticker"},"form":{"enum":["10-K","10-Q"]}}}`), Tags: []string{"disclosure"}},
	{ID: "visa-applications", Method: "GET", Path: "/v1/visas", Title: "Work visas", Summary: "H-1B applications of an employer"},
	{ID: "weather_lookup", Summary: "Look up the weather of a city"},
	{ID: "read_documentation", Summary: "Read the documentation of a deployment"},
	{ID: "address-book-lookup", Summary: "Look up a person in the address book"},
	{ID: "addPerson", Summary: "Create a person", Description: "Adds one person to the pipeline."},
	{ID: "delete_person", Summary: "Delete a person"},
	{ID: "create_incident", Summary: "Create an incident for the team"},
	{ID: "symbol-search", Method: "GET", Path: "/v1/symbols", Title: "Symbol search", Summary: "Find the ticker of a company"},
	{ID: "review_changes", Summary: "Assign reviewers to a change", Terms: []string{"second pair of eyes"}},
	{ID: "x7q", Summary: ""},
}

func ids(r *Result) []string {
	out := []string{}
	for _, h := range r.Hits {
		out = append(out, h.Entry.ID)
	}
	return out
}

func TestSearch(t *testing.T) {
	t.Parallel()
	x := NewIndex(desk, nil)
	for _, c := range []struct {
		report, question string
		first            string // "" for nothing
	}{
		{"", "10k", "sec-filings"},
		{"", "10 K of Apple", "sec-filings"},
		{"", "latest 10-K for Apple", "sec-filings"},
		{"", "h1b", "visa-applications"},
		{"", "H-1B sponsors", "visa-applications"},
		{"", "what ticker is nvidia", "symbol-search"},
		{"", "tikcer of a compny", "symbol-search"},
		{"", "who has to sign off", "review_changes"},
		{"", "second pair of eyes", "review_changes"},
		{"", "get rid of a person", "delete_person"},
		{"B228", "x7q", "x7q"},
		{"B230", "send gmail email", ""},
		{"B231", "contacts in the address book", "address-book-lookup"},
		{"B235", "add somebody", "addPerson"},
		{"B236", "look for documentation about deployment configuration", "read_documentation"},
		{"B238", "addPerson", "addPerson"},
		{"B238", "ADDPERSON", "addPerson"},
		{"B238", "call addPerson_mcp_pipedrive", "addPerson"},
		{"B240", "mcp__popo-acp__addPerson", "addPerson"},
		{"B240", ".*+?(){}[]^$|\\", ""},
	} {
		r := x.Search(c.question, 3)
		if c.first == "" {
			require.Empty(t, r.Hits, "%s %q", c.report, c.question)
		} else {
			require.NotEmpty(t, r.Hits, "%s %q", c.report, c.question)
			require.Equal(t, c.first, r.Hits[0].Entry.ID, "%s %q: %v", c.report, c.question, ids(r))
		}
	}
}

func TestSearchWithoutBlanks(t *testing.T) {
	t.Parallel()
	x := NewIndex([]Entry{{ID: "weather", Summary: "查询城市的天气预报"}, {ID: "news", Summary: "最新新闻列表"}}, nil)
	require.Equal(t, "weather", x.Search("今天天气怎么样", 1).Hits[0].Entry.ID)
	require.Equal(t, "news", x.Search("新闻", 1).Hits[0].Entry.ID)
}

// B230, B233: what matched nothing is told, whether or not there are hits.
func TestSearchNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	x := NewIndex(desk, nil)
	r := x.Search("send gmail", 3)
	require.Empty(t, r.Hits)
	require.Equal(t, []string{"send", "gmail"}, r.Unmatched)
	r = NewIndex(desk[2:4], nil).Search("candidates, recruiting", 3)
	require.Empty(t, r.Hits)
	require.Equal(t, []string{"candidates", "recruiting"}, r.Unmatched)
	r = x.Search("the ticker of the zeppelin", 3)
	require.NotEmpty(t, r.Hits)
	require.Equal(t, []string{"zeppelin"}, r.Unmatched)
	require.Equal(t, []string{"filings"}, NewIndex(desk[1:3], nil).Search("filings", 3).Unmatched)
}

// B241: the question decides, not the source.
func TestSearchDependsOnTheQuestion(t *testing.T) {
	t.Parallel()
	var entries []Entry
	for i := range 200 {
		entries = append(entries, Entry{ID: fmt.Sprintf("docs_%03d", i), Summary: fmt.Sprintf("Handle document of kind %c%c", 'a'+i%26, 'a'+i/26), Tags: []string{"docs"}})
	}
	entries = append(entries, Entry{ID: "docs_export", Summary: "Export a sheet", Tags: []string{"docs"}}, Entry{ID: "docs_share", Summary: "Share a drawing", Tags: []string{"docs"}})
	x := NewIndex(entries, nil)
	require.Equal(t, "docs_export", x.Search("docs export sheet", 10).Hits[0].Entry.ID)
	require.Equal(t, "docs_share", x.Search("docs share drawing", 10).Hits[0].Entry.ID)
}

func TestSearchExplains(t *testing.T) {
	t.Parallel()
	r := NewIndex(desk, nil).Search("filngs about a firm's disclosure", 1)
	require.Len(t, r.Hits, 1)
	by := map[string]Match{}
	for _, m := range r.Hits[0].Why {
		by[m.Word] = m
		require.Positive(t, m.Weight)
	}
	require.Equal(t, BySpelling, by["filngs"].By)
	require.Equal(t, FieldID, by["filngs"].Field)
	require.Equal(t, ByRelated, by["firm"].By)
	require.Equal(t, "compani", by["firm"].Matched)
	require.Equal(t, BySame, by["disclosure"].By)
	require.Equal(t, FieldTags, by["disclosure"].Field)
}

func TestSearchExactOutsideTheLimit(t *testing.T) {
	t.Parallel()
	x := NewIndex(desk, nil)
	r := x.Search("is weather_lookup better than a search for the ticker", 1)
	require.Equal(t, []string{"weather_lookup", "symbol-search"}, ids(r))
	require.True(t, r.Hits[0].Exact)
	require.False(t, r.Hits[1].Exact)
	require.Equal(t, 1.0, r.Confidence)
}

func TestSearchTiesBreakByID(t *testing.T) {
	t.Parallel()
	x := NewIndex([]Entry{{ID: "b", Summary: "same words"}, {ID: "c", Summary: "same words"}, {ID: "a", Summary: "same words"}, {ID: "z", Summary: "else"}}, nil)
	for range 20 {
		require.Equal(t, []string{"a", "b"}, ids(x.Search("same words", 2)))
	}
}

func TestSearchFloors(t *testing.T) {
	t.Parallel()
	const vague = "ticker of yesterday's unicorn parade in town"
	all := NewIndex(desk, &IndexOptions{Floor: -1, WeakFloor: -1}).Search(vague, 1)
	require.Len(t, all.Hits, 1)
	require.False(t, all.Weak)
	// Eleven entries: the floor is lowered to eleven sixtieths.
	none := NewIndex(desk, &IndexOptions{Floor: (all.Confidence + .01) * fullFloor / float64(len(desk))}).Search(vague, 1)
	require.Empty(t, none.Hits)
	require.Equal(t, all.Confidence, none.Confidence)
	require.NotEmpty(t, none.Unmatched)
	weak := NewIndex(desk, &IndexOptions{Floor: -1, WeakFloor: all.Confidence + .01}).Search(vague, 1)
	require.Len(t, weak.Hits, 1)
	require.True(t, weak.Weak)
}

func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	x := NewIndex(desk, nil)
	require.Empty(t, x.Search(strings.Repeat("zzz ", maxQuestionBytes)+"ticker", 3).Hits, "what lies beyond is not read")
	require.Empty(t, x.Search(strings.Repeat("qqqq ", 400)+"ticker", 3).Hits)
	require.Len(t, x.Search("a company, a person, a ticker", 1<<30).Hits, len(x.Search("a company, a person, a ticker", 50).Hits))
	require.Empty(t, x.Search("", 3).Hits)
	require.Empty(t, NewIndex(nil, nil).Search("anything", 3).Hits)
}

// The memory of a search is used again; nothing of it may remain.
func TestSearchAtOnce(t *testing.T) {
	t.Parallel()
	x := NewIndex(desk, nil)
	questions := []string{"10k", "who has to sign off", "weather", "tikcer", "delete a person", "zzz", "weather_lookup"}
	want := make([]*Result, len(questions))
	for i, q := range questions {
		want[i] = NewIndex(desk, nil).Search(q, 3)
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 100 {
				n := (i + w) % len(questions)
				if got := x.Search(questions[n], 3); !equalResults(got, want[n]) {
					t.Errorf("%q: %v, want %v", questions[n], ids(got), ids(want[n]))
				}
			}
		})
	}
	wg.Wait()
}

func equalResults(a, b *Result) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

type favourite string

func (f favourite) Rescore(_ string, entries []Entry, scores []float64) {
	for i := range entries {
		if entries[i].ID == string(f) {
			scores[i] = 100
		}
	}
}

func TestScorer(t *testing.T) {
	t.Parallel()
	x := NewIndex(desk, &IndexOptions{Scorer: favourite("weather_lookup"), Floor: -1})
	require.Equal(t, []string{"weather_lookup", "symbol-search"}, ids(x.Search("ticker", 2)))
	require.Equal(t, []string{"weather_lookup", "symbol-search"}, ids(x.Search("ticker", 2)))
}

func TestWeights(t *testing.T) {
	t.Parallel()
	entries := []Entry{
		{ID: "one", Summary: "A lamp", Description: "Nothing of note."},
		{ID: "two", Summary: "Something", Description: "Lamp after lamp after lamp."},
	}
	require.Equal(t, "one", NewIndex(entries, nil).Search("lamp", 1).Hits[0].Entry.ID)
	only := NewIndex(entries, &IndexOptions{Weights: Weights{FieldDescription: 1}}).Search("lamp", 2)
	require.Equal(t, []string{"two"}, ids(only), "a field without weight is not searched")
}

// Every verb has one intent, or the order of a map would decide.
func TestIntentsAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]intent{}
	for _, g := range intentWords {
		for _, w := range strings.Fields(g.words) {
			s := Stem(w)
			if in, ok := seen[s]; ok && in != g.intent {
				t.Errorf("%s has two intents", w)
			}
			seen[s] = g.intent
		}
	}
}

func TestIntent(t *testing.T) {
	t.Parallel()
	x := NewIndex([]Entry{{ID: "create_lamp", Summary: "A lamp"}, {ID: "delete_lamp", Summary: "A lamp"}, {ID: "list_lamp", Summary: "A lamp"}}, nil)
	require.Equal(t, "delete_lamp", x.Search("please drop the lamp", 1).Hits[0].Entry.ID)
	require.Equal(t, "create_lamp", x.Search("I want to make a lamp", 1).Hits[0].Entry.ID)
	require.Equal(t, "list_lamp", x.Search("lamp", 1).Hits[0].Entry.ID, "without a verb, reading is likelier")
	require.Equal(t, "list_lamp", x.Search("which lamp", 1).Hits[0].Entry.ID)
}

// Who asks for knowledge means what can only read.
func TestQuestionsPreferWhatReads(t *testing.T) {
	t.Parallel()
	x := NewIndex([]Entry{{ID: "a", Method: "PUT", Path: "/a", Summary: "Temperature of a room"}, {ID: "b", Method: "GET", Path: "/b", Summary: "Temperature of a room"}}, &IndexOptions{Floor: -1})
	for question, want := range map[string]string{
		"how is the temperature of the room": "b", "what is the temperature": "b", "is the temperature of the room high": "b", "where is the temperature": "b",
		"how do I set the temperature": "a", "how can I change the temperature": "a", "lower the temperature of the room": "a", "temperature": "a",
	} {
		require.Equal(t, want, x.Search(question, 1).Hits[0].Entry.ID, question)
	}
}

// Everyday words, whatever the trade.
func TestEverydayWords(t *testing.T) {
	t.Parallel()
	x := NewIndex([]Entry{
		{ID: "list-fines", Method: "GET", Path: "/f", Summary: "Outstanding fines of a reader"},
		{ID: "renew-loan", Method: "POST", Path: "/r", Summary: "Renew a loan"},
		{ID: "occupancy", Method: "GET", Path: "/o", Summary: "Occupancy of the reading room"},
	}, nil)
	require.Equal(t, "list-fines", x.Search("how much do I owe", 1).Hits[0].Entry.ID)
	require.Equal(t, "occupancy", x.Search("how busy is it", 1).Hits[0].Entry.ID)
}

// zeroing lets nothing through but one entry, and every other time all.
type zeroing struct{ calls *int }

func (z zeroing) Rescore(_ string, _ []Entry, scores []float64) {
	if *z.calls++; *z.calls%2 == 1 {
		clear(scores[1:])
	}
}

// What a Scorer takes away in one search is there for the next as it was.
func TestScorerLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	var calls int
	x := NewIndex(desk, &IndexOptions{Scorer: zeroing{&calls}, Floor: -1})
	plain := NewIndex(desk, &IndexOptions{Floor: -1})
	for range 5 {
		for _, question := range []string{"delete a person of the company", "ticker of a company"} {
			require.LessOrEqual(t, len(x.Search(question, 5).Hits), 1)
			got, want := x.Search(question, 5), plain.Search(question, 5)
			require.True(t, equalResults(want, got), "%v, not %v", got, want)
			require.Equal(t, want.Confidence, got.Confidence)
		}
	}
}

func FuzzSearch(f *testing.F) {
	for _, s := range []string{"10-K", "who has to sign off", "mcp__x__addPerson", "\xff\xfe", "a b c d", strings.Repeat("ab-", 500), "日本 語", "x7q x7q"} {
		f.Add(s)
	}
	x := NewIndex(desk, nil)
	f.Fuzz(func(t *testing.T, question string) {
		r := x.Search(question, 3)
		if len(r.Hits) > 3+maxExact || r.Confidence < 0 || r.Confidence > 1 {
			t.Fatalf("%d hits, confidence %v", len(r.Hits), r.Confidence)
		}
		if again := x.Search(question, 3); !equalResults(r, again) {
			t.Fatalf("%q: %v, then %v", question, ids(r), ids(again))
		}
	})
}

func BenchmarkIndex(b *testing.B) {
	General() // built once a process
	for _, n := range []int{58, 1000, 10000} {
		entries := manyEntries(n)
		b.Run(fmt.Sprintf("build/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewIndex(entries, nil)
			}
		})
		x := NewIndex(entries, nil)
		questions := []string{"what ticker is nvidia", "who bought shares of the company last week", "latest 10-K", "filngs", "delete a person", "how is inflation doing", "unicorns in zeppelins"}
		b.Run(fmt.Sprintf("search/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				x.Search(questions[i%len(questions)], 5)
			}
		})
	}
}

// BenchmarkSearchAgainstScan compares a search with the simplest thing that
// could find something: looking for each word in each entry's text.
func BenchmarkSearchAgainstScan(b *testing.B) {
	for _, n := range []int{58, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			entries := manyEntries(n)
			x := NewIndex(entries, nil)
			texts := make([]string, n)
			for i := range entries {
				all := fieldTexts(&entries[i])
				texts[i] = strings.ToLower(strings.Join(all[:], "\n"))
			}
			const question = "who bought shares of the company last week"
			words := strings.Fields(question)
			var searches, scans []time.Duration
			for b.Loop() {
				start := time.Now()
				x.Search(question, 5)
				searches = append(searches, time.Since(start))
				start = time.Now()
				most := 0
				for _, text := range texts {
					count := 0
					for _, w := range words {
						count += strings.Count(text, w)
					}
					most = max(most, count)
				}
				scans = append(scans, time.Since(start))
			}
			slices.Sort(searches)
			slices.Sort(scans)
			b.ReportMetric(float64(searches[len(searches)/2])/float64(scans[len(scans)/2]), "ratio")
		})
	}
}

// manyEntries makes up a catalog from the general vocabulary.
func manyEntries(n int) []Entry {
	words := strings.FieldsFunc(generalText, func(r rune) bool { return r == ',' || r == '\n' || r == '#' || r == '>' })
	at := 0
	next := func(k int) string {
		var s []string
		for range k {
			at = (at*7 + 13) % len(words)
			s = append(s, strings.TrimSpace(words[at]))
			at++
		}
		return strings.Join(s, " ")
	}
	entries := make([]Entry, n)
	for i := range entries {
		schema, _ := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{
			"symbol": map[string]any{"type": "string", "description": next(4)}, "limit": map[string]any{"type": "integer", "description": next(3)}}})
		entries[i] = Entry{ID: fmt.Sprintf("entry-%d", i), Title: next(3), Summary: next(8), Description: next(30), Tags: []string{next(1), next(1)}, Parameters: schema}
	}
	return entries
}
