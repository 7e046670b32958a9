package pagination

import (
	"unsafe"

	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/observe"
)

// readOn makes the call of read_result that the last text of res ends with.
func readOn(t require.TestingT, cs *mcp.ClientSession, res *mcp.CallToolResult) (window, *mcp.CallToolResult) {
	note := res.Content[len(res.Content)-1].(*mcp.TextContent).Text
	_, arguments, ok := strings.Cut(note, "call read_result with ")
	require.True(t, ok, note)
	return read(t, cs, json.RawMessage(arguments))
}

func read(t require.TestingT, cs *mcp.ClientSession, arguments any) (window, *mcp.CallToolResult) {
	res := callTool(t, cs, "read_result", arguments)
	require.False(t, res.IsError, mcptest.Text(res))
	require.LessOrEqual(t, len(marshal(t, res)), DefaultBytes)
	require.NotContains(t, res.Meta, wire.MetaBudget, "a piece is made to fit, and not cut")
	text := res.Content[0].(*mcp.TextContent).Text
	require.JSONEq(t, text, marshal(t, res.StructuredContent))
	var w window
	require.NoError(t, json.Unmarshal([]byte(text), &w))
	return w, res
}

func spilling() *BudgetOptions { return &BudgetOptions{Spill: &SpillOptions{}} }

// What is kept for one caller is not to be cached for others.
func TestKeptResultsArePrivate(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, revision string) {
		all := marshal(t, someOrders(1500))
		cs := mcptest.Connect(t, serve(spilling(), nil, answer(&mcp.CallToolResult{StructuredContent: json.RawMessage(all)})), revision)
		handle := callTool(t, cs, "list", nil).Meta[wire.MetaBudget].(map[string]any)["handle"].(string)
		resource, err := cs.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: resourceScheme + handle})
		require.NoError(t, err)
		require.Equal(t, "private", resource.CacheScope)
	})
}

// TestReadTheRest follows the calls that a cut result names to its end.
func TestReadTheRest(t *testing.T) {
	t.Parallel()
	all := someOrders(1500)
	all.Orders[7].Note = "9007199254740993"
	raw := strings.Replace(marshal(t, all), `"9007199254740993"`, `9007199254740993`, 1)
	both(t, func(t *testing.T, revision string) {
		cs := mcptest.Connect(t, serve(spilling(), nil, answer(&mcp.CallToolResult{
			StructuredContent: json.RawMessage(raw), Content: []mcp.Content{&mcp.TextContent{Text: raw}},
		})), revision)
		res := callTool(t, cs, "list", nil)
		require.LessOrEqual(t, len(marshal(t, res)), DefaultBytes)
		text := res.Content[0].(*mcp.TextContent).Text
		var got []json.RawMessage
		var first struct{ Orders []json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(text), &first))
		got = append(got, first.Orders...)
		handle := res.Meta[wire.MetaBudget].(map[string]any)["handle"].(string)
		link := res.Content[1].(*mcp.ResourceLink)
		require.Equal(t, resourceScheme+handle, link.URI)
		for calls := 0; ; calls++ {
			var w window
			w, res = readOn(t, cs, res)
			require.Equal(t, len(got), w.Offset)
			require.Equal(t, 1500, w.Total)
			require.Equal(t, "/orders", w.Path)
			var some []json.RawMessage
			require.NoError(t, json.Unmarshal(w.Items, &some))
			require.Len(t, some, w.Shown)
			got = append(got, some...)
			require.Less(t, calls, 50)
			if w.NextOffset == nil {
				break
			}
		}
		require.Equal(t, marshal(t, members(raw)["orders"]), marshal(t, "["+joinRaw(got)+"]"), "to the last digit")

		resource, err := cs.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: link.URI})
		require.NoError(t, err)
		require.LessOrEqual(t, len(marshal(t, resource)), DefaultBytes)
		require.True(t, strings.HasPrefix(resource.Contents[0].Text, `{"total":1500,"orders":[{"id":"ORD-1"`))
		require.Equal(t, "application/json", resource.Contents[0].MIMEType)
		require.True(t, json.Valid([]byte(resource.Contents[0].Text)))
	})
}

func joinRaw(items []json.RawMessage) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(item)
	}
	return b.String()
}

// TestReadTextToTheEnd does the same for text, for text in JSON, and for what
// only its raw bytes can be read of.
func TestReadTextToTheEnd(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"a line of text\n", "für <Ärzte> & „Söhne“ ", "\x00\x01\x02", "😀😀", "\u2028", `\"\\`, "日本語"} {
		for _, structured := range []bool{false, true} {
			t.Run(fmt.Sprintf("%q/%t", piece, structured), func(t *testing.T) {
				t.Parallel()
				text := strings.Repeat(piece, 90_000/len(piece))
				res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "short"}, &mcp.TextContent{Text: text}}}
				if structured {
					res = &mcp.CallToolResult{StructuredContent: map[string]any{"id": 1, "body": text}}
				}
				b := NewBudget(&BudgetOptions{Observer: observe.Discard, Spill: &SpillOptions{}})
				shown := boundBy(t, b, res)
				got := ""
				if structured {
					var s struct{ Body string }
					require.NoError(t, json.Unmarshal(shown.StructuredContent.(json.RawMessage), &s))
					got = s.Body[:strings.LastIndex(s.Body, "… [")]
				} else {
					got = shown.Content[1].(*mcp.TextContent).Text
				}
				note := shown.Content[len(shown.Content)-1].(*mcp.TextContent).Text
				for next := true; next; {
					_, arguments, _ := strings.Cut(note, "call read_result with ")
					var in readInput
					require.NoError(t, json.Unmarshal([]byte(arguments), &in))
					res, _, err := b.readResult(context.Background(), request(json.RawMessage(arguments)), in)
					require.NoError(t, err)
					require.LessOrEqual(t, len(marshal(t, res)), DefaultBytes-envelope)
					var w window
					require.NoError(t, json.Unmarshal(res.StructuredContent.(json.RawMessage), &w))
					require.NotZero(t, w.Shown)
					require.Equal(t, "bytes", w.Unit)
					got += *w.Text
					note = res.Content[1].(*mcp.TextContent).Text
					next = w.NextOffset != nil
				}
				require.True(t, got == text, "%d bytes instead of %d", len(got), len(text))
			})
		}
	}
}

// boundBy bounds a result as for a server that has read_result.
func boundBy(t require.TestingT, b *Budget, res *mcp.CallToolResult) *mcp.CallToolResult {
	c := callCutter{Budget: b, ctx: context.Background(), req: request(nil), limit: b.toolLimit("search"), list: func() []*mcp.Tool {
		return []*mcp.Tool{{Name: "read_result"}}
	}}
	return c.bound(res, &boundState{})
}

// TestReadResultArguments: paths, parts and whatever a model may pass.
func TestReadResultArguments(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 30_000)
	raw := `{"meta":{"a/b":"x~y"},"rows":[{"id":1,"text":` + marshal(t, long) + `},` + strings.Repeat(`{"id":2},`, 9000) + `{"id":3}]}`
	cs := mcptest.Connect(t, serve(spilling(), nil, answer(&mcp.CallToolResult{
		StructuredContent: json.RawMessage(raw), Content: []mcp.Content{&mcp.TextContent{Text: "a summary"}, &mcp.TextContent{Text: "more"}},
	})), "")
	handle := callTool(t, cs, "list", nil).Meta[wire.MetaBudget].(map[string]any)["handle"].(string)
	with := func(more map[string]any) map[string]any {
		maps.Copy(more, map[string]any{"handle": handle})
		return more
	}
	for _, tt := range []struct {
		arguments map[string]any
		items     string
		text      string
	}{
		{with(map[string]any{"path": "/rows", "offset": 9000}), `[{"id":2},{"id":3}]`, ""},
		{with(map[string]any{"path": "/rows", "offset": 5, "limit": 1}), `[{"id":2}]`, ""},
		{with(map[string]any{"path": "/rows", "offset": 1 << 40}), `[]`, ""},
		{with(map[string]any{"path": "/rows/9001/id"}), "", "3"},
		{with(map[string]any{"path": "/meta/a~1b"}), "", "x~y"},
		{with(map[string]any{"path": "/rows/0/text", "offset": len(long) - 5}), "", "word "},
		{with(map[string]any{"path": "/rows/0/text", "offset": 1 << 40}), "", ""},
		{with(map[string]any{"path": "", "offset": len(raw) - 10}), "", `{"id":3}]}`},
		{with(map[string]any{"part": 1}), "", "a summary"},
		{with(map[string]any{"part": 2}), "", "more"},
	} {
		w, _ := read(t, cs, tt.arguments)
		require.Equal(t, tt.items, string(w.Items), tt.arguments)
		if tt.items == "" {
			require.Equal(t, tt.text, *w.Text, tt.arguments)
		}
	}
	// An item that is too much alone is shortened; its path leads to the rest.
	w, res := read(t, cs, with(map[string]any{"path": "/rows"}))
	require.Equal(t, 1, w.Shown)
	require.Contains(t, string(w.Items), "more bytes]")
	w, _ = readOn(t, cs, res)
	require.Equal(t, 1, w.Offset)

	for _, tt := range []struct {
		arguments map[string]any
		want      string
	}{
		{map[string]any{"handle": "nonsense"}, `There is no kept result "nonsense". Reason: results are kept for 15m0s`},
		{map[string]any{"handle": strings.Repeat("x", 5000)}, "There is no kept result"},
		{with(map[string]any{"path": "/nothing"}), `There is nothing at "/nothing"`},
		{with(map[string]any{"path": "rows"}), `There is nothing at "rows"`},
		{with(map[string]any{"path": "/rows/-1"}), "There is nothing"},
		{with(map[string]any{"path": "/rows/01x"}), "There is nothing"},
		{with(map[string]any{"path": strings.Repeat("/a", 200)}), "There is nothing"},
		{with(map[string]any{"path": strings.Repeat("/a", 300)}), "path has 600 bytes; 512 are the most"},
		{with(map[string]any{"offset": -1}), "offset must not be negative"},
		{with(map[string]any{"limit": -1}), "limit must not be negative"},
		{with(map[string]any{"part": 3}), "part must be from 0 to 2, got 3"},
		{with(map[string]any{"part": -1}), "part must be from 0 to 2"},
	} {
		res := callTool(t, cs, "read_result", tt.arguments)
		require.True(t, res.IsError, tt.arguments)
		require.Contains(t, mcptest.Text(res), tt.want)
		require.Less(t, len(mcptest.Text(res)), 400)
	}
}

// TestNothingIsOfferedWithoutTheTool: no note names a tool that is not there.
func TestNothingIsOfferedWithoutTheTool(t *testing.T) {
	t.Parallel()
	server := mcptest.Server()
	server.AddTool(&mcp.Tool{Name: "list", InputSchema: bare}, answer(&mcp.CallToolResult{StructuredContent: someOrders(5000)}))
	b := NewBudget(&BudgetOptions{Observer: observe.Discard, Spill: &SpillOptions{}})
	server.AddReceivingMiddleware(b.Middleware())
	res := callTool(t, mcptest.Connect(t, server, ""), "list", nil)
	require.NotContains(t, mcptest.Text(res), "read_result")
	require.Empty(t, b.spill.kept)
	// Nor does Install do anything without a store.
	NewBudget(nil).Install(server)
	tools, err := mcptest.Connect(t, server, "").ListTools(context.Background(), nil)
	require.NoError(t, err)
	require.Len(t, tools.Tools, 1)
}

// TestRefusedIsKept: what cannot be cut can be read.
func TestRefusedIsKept(t *testing.T) {
	t.Parallel()
	tool := &mcp.Tool{InputSchema: bare, OutputSchema: json.RawMessage(`{"properties":{"orders":{"minItems":5000}}}`)}
	cs := mcptest.Connect(t, serve(spilling(), tool, answer(&mcp.CallToolResult{StructuredContent: someOrders(5000)})), "")
	res := callTool(t, cs, "list", nil)
	require.True(t, res.IsError)
	w, _ := readOn(t, cs, res)
	require.Equal(t, "bytes", w.Unit)
	require.Contains(t, *w.Text, `{"total":5000,"orders":[`)
}

// TestForeignIsUnknown: a handle of somebody else's is answered like one that
// never was, as a tool and as a resource.
func TestForeignIsUnknown(t *testing.T) {
	t.Parallel()
	b := NewBudget(&BudgetOptions{Observer: observe.Discard, Spill: &SpillOptions{}})
	e := &spilled{owner: "user:ada", parts: []string{"secret"}}
	require.True(t, b.spill.put(e))
	ask := func(user, handle string) (*mcp.CallToolResult, error) {
		res, _, err := b.readResult(context.Background(), asUser(request(nil), user), readInput{Handle: handle})
		return res, err
	}
	res, err := ask("ada", e.handle)
	require.NoError(t, err)
	require.Contains(t, marshal(t, res), "secret")
	_, foreign := ask("bob", e.handle)
	_, unknown := ask("bob", strings.Repeat("A", len(e.handle)))
	var f *errors.Failure
	require.ErrorAs(t, foreign, &f)
	require.Equal(t, errors.KindNotFound, f.Kind())
	require.Equal(t, strings.ReplaceAll(unknown.Error(), strings.Repeat("A", len(e.handle)), e.handle), foreign.Error())

	req := &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: resourceScheme + e.handle}}
	_, err = b.readResource(context.Background(), req)
	require.Equal(t, mcp.ResourceNotFoundError(req.Params.URI), err)
}

func TestSpillExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSpillStore(SpillOptions{TTL: time.Minute})
		a, b := &spilled{parts: []string{"a"}}, &spilled{parts: []string{"b"}}
		require.True(t, s.put(a))
		time.Sleep(40 * time.Second)
		require.True(t, s.put(b))
		require.NotNil(t, s.get(a.handle, ""))
		time.Sleep(20 * time.Second)
		require.Nil(t, s.get(a.handle, ""))
		require.NotNil(t, s.get(b.handle, ""))
		time.Sleep(40 * time.Second)
		require.Nil(t, s.get(b.handle, ""))
		require.Empty(t, s.kept)
		require.Empty(t, s.byOwner)
		require.Zero(t, s.bytes)
		require.Nil(t, s.oldest)
		require.Nil(t, s.newest)
	})
}

// TestSpillIsBounded: whatever is put, by whomever, the bounds hold, and what
// goes is the oldest.
func TestSpillIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		const all = 100_000
		s := newSpillStore(SpillOptions{Bytes: all})
		var put []*spilled
		for range rapid.IntRange(1, 200).Draw(rt, "n") {
			e := &spilled{
				owner: fmt.Sprint(rapid.IntRange(0, 5).Draw(rt, "owner")),
				parts: []string{strings.Repeat("x", rapid.IntRange(0, 30_000).Draw(rt, "size"))},
			}
			if s.put(e) {
				put = append(put, e)
			} else {
				require.Greater(rt, len(e.parts[0])+keptOverhead, all/4)
			}
			total, owners := 0, map[string]int{}
			for _, k := range s.kept {
				total += k.size
				owners[k.owner] += k.size
			}
			require.Equal(rt, s.bytes, total)
			require.Equal(rt, s.byOwner, owners)
			require.LessOrEqual(rt, total, all)
			for _, n := range owners {
				require.LessOrEqual(rt, n, all/4)
			}
			n := 0
			for k := s.oldest; k != nil; k = k.next {
				require.Same(rt, k, s.kept[k.handle])
				if n++; k.next == nil {
					require.Same(rt, k, s.newest)
				}
			}
			require.Len(rt, s.kept, n)
		}
		// Of each owner, the newest are there and the oldest are not.
		for owner := range 6 {
			gone := true
			for _, e := range put {
				if e.owner == fmt.Sprint(owner) {
					there := s.get(e.handle, e.owner) != nil
					require.False(rt, !there && !gone, "an older result outlived a newer one")
					gone = !there
				}
			}
		}
	})
}

// TestMemoryIsBounded runs many large results through a small store.
func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("measures the heap")
	}
	b := NewBudget(&BudgetOptions{Observer: observe.Discard, Spill: &SpillOptions{Bytes: 8 << 20}})
	raw := json.RawMessage(marshal(t, someOrders(3000))) // half a megabyte
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	handles := map[string]bool{}
	for range 30 {
		res := boundBy(t, b, &mcp.CallToolResult{StructuredContent: raw})
		handles[res.Meta[wire.MetaBudget].(map[string]any)["handle"].(string)] = true
	}
	grown := heap() - before
	t.Logf("%d results of %d kB kept, heap grew by %d kB", len(b.spill.kept), len(raw)/1000, grown/1000)
	require.Len(t, handles, 30)
	require.Less(t, grown, 9<<20)
	require.LessOrEqual(t, b.spill.bytes, 8<<20)
	require.NotEmpty(t, slices.Collect(maps.Keys(b.spill.kept)))
}

// TestKeptTextIsACopy: a small piece of a large text must not hold all of it.
func TestKeptTextIsACopy(t *testing.T) {
	t.Parallel()
	s := newSpillStore(SpillOptions{})
	large := strings.Repeat("x", 1<<20)
	e := &spilled{parts: []string{large[:10], large[10:20]}}
	require.True(t, s.put(e))
	for i, p := range e.parts {
		require.Equal(t, "xxxxxxxxxx", p)
		require.NotSame(t, unsafe.StringData(large[10*i:]), unsafe.StringData(p))
	}
}
