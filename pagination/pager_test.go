package pagination

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/steadymcp/steady/observe"
)

type row struct {
	ID   int    `json:"id"`
	Name string `json:"name,omitempty"`
}

type filter struct {
	Status string `json:"status,omitempty"`
	Paid   bool   `json:"paid,omitempty"`
	tenant string
}

func rows(n int) []row {
	out := make([]row, n)
	for i := range out {
		out[i] = row{ID: i + 1}
	}
	return out
}

func quiet(b Bounds) *Options { return &Options{Bounds: b, Observer: observe.Discard} }

// request is a call of a tool named "search" with arguments.
func request(arguments any) *mcp.CallToolRequest {
	data, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "search", Arguments: data}}
}

// pagers over n rows with IDs from 1 on, one of each kind.
func pagers(n int, opts *Options) map[string]*Pager[filter, row] {
	all := func(context.Context, filter) ([]row, error) { return rows(n), nil }
	id := func(r row) int { return r.ID }
	return map[string]*Pager[filter, row]{
		"slice": Slice(all, opts),
		"byKey": SliceByKey(all, id, opts),
		"seq":   Seq(func(context.Context, filter) iter.Seq2[row, error] { return withoutErrors(rows(n)) }, opts),
		"offset": Offset(func(_ context.Context, _ filter, offset, m int) ([]row, error) {
			return window2(rows(n), offset, m), nil
		}, opts),
		"keyset": Keyset(func(_ context.Context, _ filter, after *int, m int) ([]row, error) {
			return behind(rows(n), after, m), nil
		}, id, opts),
		"upstream": Upstream(service(rows(n), 7), opts),
	}
}

func withoutErrors(rs []row) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for _, r := range rs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func window2(rs []row, offset, n int) []row {
	rs = rs[min(offset, len(rs)):]
	return rs[:min(n, len(rs))]
}

func behind(rs []row, after *int, n int) []row {
	if after != nil {
		rs = rs[sortedBehind(rs, *after):]
	}
	return rs[:min(n, len(rs))]
}

func sortedBehind(rs []row, id int) int {
	i, found := slices.BinarySearchFunc(rs, id, func(r row, id int) int { return cmp.Compare(r.ID, id) })
	if found {
		i++
	}
	return i
}

// service is another service with pages of its own size.
func service(rs []row, size int) func(context.Context, filter, string, int) ([]row, string, error) {
	return func(_ context.Context, _ filter, cursor string, _ int) ([]row, string, error) {
		from := 0
		if cursor != "" {
			_, _ = fmt.Sscanf(cursor, "at-%d", &from)
		}
		to := min(from+size, len(rs))
		next := ""
		if to < len(rs) {
			next = fmt.Sprintf("at-%d", to)
		}
		return rs[from:to], next, nil
	}
}

// checkPage holds for every page.
func checkPage(t require.TestingT, res *mcp.CallToolResult, page Page[row]) {
	require.Equal(t, page.HasMore, page.NextCursor != nil)
	require.NotNil(t, page.Items)
	text := res.Content[0].(*mcp.TextContent).Text
	require.Equal(t, text, string(res.StructuredContent.(json.RawMessage)))
	require.Equal(t, text, marshal(t, page))
	schema, err := OutputSchema[row]()
	require.NoError(t, err)
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	require.True(t, fitsSchema(text, resolved))
	if page.NextCursor == nil {
		require.Contains(t, text, `"next_cursor":null`)
		return
	}
	require.NotEmpty(t, *page.NextCursor)
	note := res.Content[len(res.Content)-1].(*mcp.TextContent).Text
	_, arguments, ok := strings.Cut(note, "call search with ")
	require.True(t, ok, note)
	var next map[string]any
	require.NoError(t, json.Unmarshal([]byte(arguments), &next), "the note ends with the arguments")
	require.Equal(t, *page.NextCursor, next["cursor"])
}

// follow makes the call that a page's note ends with.
func follow(t require.TestingT, res *mcp.CallToolResult) (*mcp.CallToolRequest, Input) {
	_, arguments, _ := strings.Cut(res.Content[len(res.Content)-1].(*mcp.TextContent).Text, "call search with ")
	var in Input
	require.NoError(t, json.Unmarshal([]byte(arguments), &in))
	return request(json.RawMessage(arguments)), in
}

func TestWalkEveryPager(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n, limit := rapid.IntRange(0, 60).Draw(rt, "n"), rapid.IntRange(1, 12).Draw(rt, "limit")
		ps := pagers(n, quiet(Bounds{Max: 12}))
		kind := rapid.SampledFrom(slices.Sorted(maps.Keys(ps))).Draw(rt, "kind")
		p := ps[kind]
		req, in := request(map[string]any{"limit": limit}), Input{Limit: limit}
		var got []row
		pages := 0
		for {
			res, page, err := p.Page(context.Background(), req, in, filter{})
			require.NoError(rt, err)
			checkPage(rt, res, page)
			got = append(got, page.Items...)
			pages++
			require.LessOrEqual(rt, pages, n+1, "the walk does not end")
			if page.NextCursor == nil {
				break
			}
			req, in = follow(rt, res)
		}
		require.Equal(rt, rows(n), append([]row{}, got...))
		if kind != "upstream" { // its pages are cut where the service's end
			require.Equal(rt, max(1, (n+limit-1)/limit), pages)
		}
	})
}

// TestKeysetSurvivesChanges is the promise of a keyset: rows that come and go
// between two pages make no other row appear twice or not at all.
func TestKeysetSurvivesChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		table := map[int]bool{}
		for _, id := range rapid.SliceOf(rapid.IntRange(1, 200)).Draw(rt, "rows") {
			table[id] = true
		}
		sorted := func() []row {
			var out []row
			for _, id := range slices.Sorted(maps.Keys(table)) {
				out = append(out, row{ID: id})
			}
			return out
		}
		id := func(r row) int { return r.ID }
		p := Keyset(func(_ context.Context, _ filter, after *int, n int) ([]row, error) {
			return behind(sorted(), after, n), nil
		}, id, quiet(Bounds{}))
		if rapid.Bool().Draw(rt, "slice") {
			p = SliceByKey(func(context.Context, filter) ([]row, error) {
				rs := sorted()
				slices.Reverse(rs)
				return rs, nil
			}, id, quiet(Bounds{}))
		}
		start := maps.Clone(table)
		touched := map[int]bool{}
		limit := rapid.IntRange(1, 10).Draw(rt, "limit")
		req, in := request(map[string]any{"limit": limit}), Input{Limit: limit}
		var got []int
		for pages := 0; ; pages++ {
			require.Less(rt, pages, 500)
			res, page, err := p.Page(context.Background(), req, in, filter{})
			require.NoError(rt, err)
			for _, r := range page.Items {
				got = append(got, r.ID)
			}
			if page.NextCursor == nil {
				break
			}
			req, in = follow(rt, res)
			for _, id := range rapid.SliceOfN(rapid.IntRange(1, 200), 0, 5).Draw(rt, "changes") {
				touched[id] = true
				if table[id] {
					delete(table, id)
				} else {
					table[id] = true
				}
			}
		}
		require.True(rt, slices.IsSorted(got))
		require.Len(rt, slices.Compact(slices.Clone(got)), len(got), "a row came twice")
		for id := range start {
			if !touched[id] {
				require.Contains(rt, got, id, "a row vanished")
			}
		}
		for _, id := range got {
			require.True(rt, start[id] || touched[id])
		}
	})
}

// TestPageFitsItsBytes: a page ends early where its rows are long, goes on
// behind the last one, and has one row at least.
func TestPageFitsItsBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(rt, "n")
		size := rapid.IntRange(0, 3000).Draw(rt, "size")
		bytes := rapid.IntRange(6000, 40_000).Draw(rt, "bytes")
		all := rows(n)
		for i := range all {
			all[i].Name = strings.Repeat("é\"", size/3)
		}
		opts := quiet(Bounds{Limit: 30, Max: 30})
		opts.Bytes = bytes
		p := Slice(func(context.Context, filter) ([]row, error) { return all, nil }, opts)
		req, in := request(map[string]any{"status": "paid"}), Input{}
		var got []row
		for {
			res, page, err := p.Page(context.Background(), req, in, filter{Status: "paid"})
			require.NoError(rt, err)
			checkPage(rt, res, page)
			require.NotEmpty(rt, page.Items)
			if len(page.Items) > 1 {
				require.LessOrEqual(rt, len(marshal(rt, res)), bytes-envelope)
			}
			got = append(got, page.Items...)
			if page.NextCursor == nil {
				break
			}
			req, in = follow(rt, res)
		}
		require.Equal(rt, all, got)
	})
}

func TestPageOfNothing(t *testing.T) {
	t.Parallel()
	for name, p := range pagers(0, quiet(Bounds{})) {
		res, page, err := p.Page(context.Background(), nil, Input{}, filter{})
		require.NoError(t, err, name)
		require.Empty(t, page.Items, name)
		text := res.Content[0].(*mcp.TextContent).Text
		require.Contains(t, text, `"items":[],"next_cursor":null,"has_more":false`, name)
		require.Len(t, res.Content, 1, name)
	}
}

func TestPageByHand(t *testing.T) {
	t.Parallel()
	empty := ""
	require.Equal(t, `{"items":[],"next_cursor":null,"has_more":false}`, marshal(t, Page[row]{NextCursor: &empty}))
	require.Equal(t, `{"items":[],"next_cursor":null,"has_more":false}`, marshal(t, &Page[row]{}))
}

func TestPageLimits(t *testing.T) {
	t.Parallel()
	p := pagers(200, quiet(Bounds{Limit: 5, Max: 10}))["slice"]
	for limit, want := range map[int]int{0: 5, 1: 1, 10: 10, 11: 10, 500: 10, 1<<63 - 1: 10} {
		_, page, err := p.Page(context.Background(), nil, Input{Limit: limit}, filter{})
		require.NoError(t, err)
		require.Len(t, page.Items, want, "limit %d", limit)
	}
	for _, limit := range []int{-1, -5, -1 << 63} {
		_, _, err := p.Page(context.Background(), nil, Input{Limit: limit}, filter{})
		require.ErrorContains(t, err, "limit must be from 1 to 10")
	}
}

func TestPageErrors(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	same := func(context.Context, filter) ([]row, error) { return []row{{ID: 1}, {ID: 1}, {ID: 1}}, nil }
	id := func(r row) int { return r.ID }
	for _, tt := range []struct {
		name  string
		pager *Pager[filter, row]
		want  string
	}{
		{"slice", Slice(func(context.Context, filter) ([]row, error) { return nil, boom }, quiet(Bounds{})), "boom"},
		{"by key", SliceByKey(func(context.Context, filter) ([]row, error) { return nil, boom }, id, quiet(Bounds{})), "boom"},
		{"seq", Seq(func(context.Context, filter) iter.Seq2[row, error] {
			return func(yield func(row, error) bool) { _ = yield(row{}, nil) && yield(row{}, boom) }
		}, quiet(Bounds{})), "boom"},
		{"total", pagers(3, quiet(Bounds{}))["offset"].WithTotal(func(context.Context, filter) (int, error) { return 0, boom }), "boom"},
		{"keys that are not unique", SliceByKey(same, id, quiet(Bounds{Limit: 1})), "two rows have the key 1"},
		{"a service that repeats its cursor", Upstream(func(_ context.Context, _ filter, cursor string, _ int) ([]row, string, error) {
			if cursor == "" {
				return nil, "x", nil
			}
			return rows(3), "x", nil
		}, quiet(Bounds{})), "incomplete"}, // B175
		{"a service that never has rows", Upstream(func(_ context.Context, _ filter, cursor string, _ int) ([]row, string, error) {
			return nil, cursor + "x", nil
		}, quiet(Bounds{})), "incomplete"},
		{"a huge key", Keyset(func(_ context.Context, _ filter, _ *string, _ int) ([]row, error) { return rows(3), nil },
			func(r row) string { return fmt.Sprint(r.ID, strings.Repeat("k", 5000)) }, quiet(Bounds{Limit: 1})), "does not fit in a cursor"},
	} {
		_, _, err := tt.pager.Page(context.Background(), nil, Input{}, filter{})
		require.ErrorContains(t, err, tt.want, tt.name)
	}
}

// TestUpstreamOfSeveral pages over two services at once: their positions travel
// together in one cursor (B180).
func TestUpstreamOfSeveral(t *testing.T) {
	t.Parallel()
	type positions struct{ A, B int }
	a, b := rows(5), rows(9)
	p := Upstream(func(_ context.Context, _ filter, cursor string, n int) ([]row, string, error) {
		var at positions
		if cursor != "" {
			if err := json.Unmarshal([]byte(cursor), &at); err != nil {
				return nil, "", err
			}
		}
		fromA, fromB := window2(a, at.A, n/2), window2(b, at.B, n/2)
		at.A += len(fromA)
		at.B += len(fromB)
		next := ""
		if at.A < len(a) || at.B < len(b) {
			next = marshal(t, at)
		}
		return append(slices.Clone(fromA), fromB...), next, nil
	}, quiet(Bounds{}))
	seen := map[int]int{}
	for r, err := range Walk(context.Background(), func(ctx context.Context, cursor string) (Page[row], error) {
		_, page, err := p.Page(ctx, nil, Input{Limit: 4, Cursor: cursor}, filter{})
		return page, err
	}) {
		require.NoError(t, err)
		seen[r.ID]++
	}
	for id := 1; id <= 9; id++ {
		want := 1
		if id <= 5 {
			want = 2
		}
		require.Equal(t, want, seen[id], "id %d", id)
	}
}

func TestWithTotal(t *testing.T) {
	t.Parallel()
	p := pagers(30, &Options{Bounds: Bounds{Limit: 10}, Aggregate: "revenue"})["keyset"].
		WithTotal(func(context.Context, filter) (int, error) { return 1234, nil })
	res, page, err := p.Page(context.Background(), request(map[string]any{}), Input{}, filter{})
	require.NoError(t, err)
	require.Equal(t, 1234, *page.Total)
	require.Contains(t, res.Content[1].(*mcp.TextContent).Text,
		"10 of 1,234 items. To count or add up over all of them, call revenue instead of reading every page. For the next page, call search with {\"cursor\":")
}

func TestWalkIncomplete(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for name, next := range map[string]func(n int, cursor string) Page[row]{
		"the same cursor again":  func(int, string) Page[row] { return Page[row]{HasMore: true, NextCursor: text("x")} }, // B175
		"a circle":               func(n int, _ string) Page[row] { return Page[row]{HasMore: true, NextCursor: text(fmt.Sprint(n % 5))} },
		"an empty cursor":        func(int, string) Page[row] { return Page[row]{NextCursor: text("")} }, // B171
		"more, without a cursor": func(int, string) Page[row] { return Page[row]{HasMore: true} },
	} {
		n := 0
		var last error
		for _, err := range Walk(context.Background(), func(_ context.Context, cursor string) (Page[row], error) {
			n++
			require.Less(t, n, 100, name)
			return next(n, cursor), nil
		}) {
			last = err
		}
		require.ErrorIs(t, last, ErrIncomplete, name)
	}
	boom := errors.New("boom")
	for _, err := range Walk(context.Background(), func(context.Context, string) (Page[row], error) { return Page[row]{}, boom }) {
		require.ErrorIs(t, err, ErrIncomplete)
		require.ErrorIs(t, err, boom)
	}
}

// TestUpstreamWithAnotherLimit: a page of the service that is gone on with in
// the middle is asked for as it was, whatever limit the next call has.
func TestUpstreamWithAnotherLimit(t *testing.T) {
	t.Parallel()
	all := rows(100)
	for i := range all {
		all[i].Name = strings.Repeat("s", 100)
	}
	for _, shrinks := range []bool{false, true} {
		p := Upstream(func(_ context.Context, _ filter, cursor string, n int) ([]row, string, error) {
			from := 0
			_, _ = fmt.Sscan(cursor, &from)
			if shrinks && cursor != "" {
				n = min(n, 20)
			}
			to := min(from+n, len(all))
			next := ""
			if to < len(all) {
				next = fmt.Sprint(to)
			}
			return all[from:to], next, nil
		}, &Options{Bounds: Bounds{Limit: 50}, Bytes: 10_000, Observer: observe.Discard})
		var got []row
		in := Input{Limit: 50}
		for limit := 1; ; limit = limit%7 + 1 {
			_, page, err := p.Page(context.Background(), nil, in, filter{})
			require.NoError(t, err)
			got = append(got, page.Items...)
			if page.NextCursor == nil {
				break
			}
			in = Input{Limit: limit, Cursor: *page.NextCursor}
		}
		require.Equal(t, all, got)
	}
}
