package pagination

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/observe"
)

// bare is the input schema of a tool that takes anything.
var bare = json.RawMessage(`{"type":"object"}`)

// answer is a raw handler that always returns a copy of res.
func answer(res *mcp.CallToolResult) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := *res
		return &c, nil
	}
}

// serve returns a server with one tool, "list", behind a budget.
func serve(opts *BudgetOptions, tool *mcp.Tool, h mcp.ToolHandler) *mcp.Server {
	if opts == nil {
		opts = &BudgetOptions{}
	}
	if opts.Observer == nil {
		opts.Observer = observe.Discard
	}
	if tool == nil {
		tool = &mcp.Tool{InputSchema: bare}
	}
	tool.Name = "list"
	server := mcptest.Server()
	server.AddTool(tool, h)
	b := NewBudget(opts)
	b.Install(server)
	server.AddReceivingMiddleware(b.Middleware())
	return server
}

func callTool(t require.TestingT, cs *mcp.ClientSession, name string, arguments any) *mcp.CallToolResult {
	res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(t, err)
	return res
}

// both runs a test at both revisions of the protocol.
func both(t *testing.T, f func(t *testing.T, revision string)) {
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			f(t, revision)
		})
	}
}

type order struct {
	ID    string `json:"id"`
	Lines []line `json:"lines"`
	Note  string `json:"note,omitempty"`
}

type line struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

type orders struct {
	Total  int     `json:"total"`
	Orders []order `json:"orders"`
}

func someOrders(n int) orders {
	o := orders{Total: n, Orders: make([]order, n)}
	for i := range o.Orders {
		o.Orders[i] = order{ID: fmt.Sprintf("ORD-%d", i+1), Note: "für <Ärzte> & „Söhne“", Lines: []line{{"SKU-1", i}, {"SKU-2", 2}, {"SKU-3", 3}}}
	}
	return o
}

// TestCutTypedResult is the everyday case: a typed handler that returns it all.
func TestCutTypedResult(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, revision string) {
		var events []observe.Event
		server := mcptest.Server()
		mcp.AddTool(server, &mcp.Tool{Name: "list"}, func(context.Context, *mcp.CallToolRequest, struct {
			Status string `json:"status,omitempty"`
			Limit  int    `json:"limit,omitempty"`
		}) (*mcp.CallToolResult, orders, error) {
			return nil, someOrders(5000), nil
		})
		server.AddReceivingMiddleware(NewBudget(&BudgetOptions{Observer: observe.Func(func(_ context.Context, e observe.Event) { events = append(events, e) })}).Middleware())
		res := callTool(t, mcptest.Connect(t, server, revision), "list", nil)

		require.False(t, res.IsError)
		require.LessOrEqual(t, len(marshal(t, res)), DefaultBytes)
		require.Greater(t, len(marshal(t, res)), DefaultBytes-3000, "the room is used")
		var got orders
		text := res.Content[0].(*mcp.TextContent).Text
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		require.Equal(t, 5000, got.Total)
		require.Equal(t, someOrders(5000).Orders[:len(got.Orders)], got.Orders)
		require.JSONEq(t, text, marshal(t, res.StructuredContent))
		note := res.Content[1].(*mcp.TextContent).Text
		require.Regexp(t, `^This result was cut: it has 1\.\d MB, and at most 80 kB can be sent\. Shown: \d+ of 5,000 items of /orders\. Call list again with limit = \d+ or less, or ask for less, with limit, status\.$`, note)
		facts := res.Meta[wire.MetaBudget].(map[string]any)
		require.EqualValues(t, len(got.Orders), facts["shown"])
		require.EqualValues(t, 5000, facts["total"])
		require.Equal(t, "/orders", facts["path"])
		require.Len(t, events, 1)
		e := events[0].(Cut)
		require.Equal(t, Cut{Tool: "list", Bytes: e.Bytes, Limit: DefaultBytes, Shown: len(got.Orders), Total: 5000, Unit: unitItems}, e)
	})
}

func TestUnderBudgetIsUntouched(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, res := range []mcp.Result{
		&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}, StructuredContent: json.RawMessage(` {"a" : 1} `)},
		&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("a", 70_000)}}},
		&mcp.CallToolResult{},
		&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("a", 900_000)}}, InputRequests: mcp.InputRequestMap{}}, // asks for input
		&mcp.ListToolsResult{},
		&mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "ok"}}},
		&mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: strings.Repeat("a", 900_000)}}, InputRequests: mcp.InputRequestMap{}},
		(*mcp.CallToolResult)(nil),
		(*mcp.ReadResourceResult)(nil),
		&taskResult{Handle: strings.Repeat("a", 900_000)},
		nil,
	} {
		h := NewBudget(nil).Middleware()(func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, nil })
		for _, req := range []mcp.Request{
			&mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "list"}}, &mcp.CallToolRequest{}, (*mcp.CallToolRequest)(nil),
			&mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: "x:y"}}, &mcp.ReadResourceRequest{}, (*mcp.ReadResourceRequest)(nil),
			&mcp.ListToolsRequest{},
		} {
			got, err := h(ctx, "any", req)
			require.NoError(t, err)
			require.True(t, got == res, "%T %T", req, res)
		}
	}
	boom := errors.Refused("no")
	h := NewBudget(nil).Middleware()(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, boom })
	for _, req := range []mcp.Request{request(nil), &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{}}} {
		_, err := h(ctx, "any", req)
		require.Equal(t, error(boom), err)
	}
}

// taskResult is what some other middleware may answer a call with.
type taskResult struct {
	mcp.ResultBase
	Handle string
}

// TestCutIsValid: whatever a handler returns and whatever the budget is, the
// answer fits, says so, and, unless it is an error, fits the output schema.
// TestCannotBeMadeValid: the schema wants more items than fit.
// TestStringsThatSchemasConstrain stay whole: items go instead.
// TestReplacedTool: the schema that counts is the one that is listed now.
func TestReplacedTool(t *testing.T) {
	t.Parallel()
	whole := answer(&mcp.CallToolResult{StructuredContent: map[string]any{"a": strings.Repeat("a", 200_000)}})
	tool := func(schema string) *mcp.Tool {
		return &mcp.Tool{Name: "list", InputSchema: bare, OutputSchema: json.RawMessage(schema)}
	}
	server := serve(nil, tool(`{"type":"object"}`), whole)
	cs := mcptest.Connect(t, server, "")
	require.False(t, callTool(t, cs, "list", nil).IsError)
	server.AddTool(tool(`{"properties":{"a":{"minLength":200000}}}`), whole)
	require.True(t, callTool(t, cs, "list", nil).IsError)
	server.AddTool(tool(`{"$schema":"http://example.com/dialect","properties":{"a":{"minLength":200000}}}`), whole)
	require.False(t, callTool(t, cs, "list", nil).IsError, "a dialect that nobody here can read forbids nothing")
}

// TestPagedToolList: the tool is found on whatever page it is listed.
func TestPagedToolList(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "test"}, &mcp.ServerOptions{PageSize: 2})
	for i := range 9 {
		server.AddTool(&mcp.Tool{Name: fmt.Sprint("a", i), InputSchema: bare}, answer(&mcp.CallToolResult{}))
	}
	server.AddTool(&mcp.Tool{Name: "list", InputSchema: bare, OutputSchema: json.RawMessage(`{"properties":{"a":{"minLength":200000}}}`)},
		answer(&mcp.CallToolResult{StructuredContent: map[string]any{"a": strings.Repeat("a", 200_000)}}))
	server.AddReceivingMiddleware(NewBudget(&BudgetOptions{Observer: observe.Discard}).Middleware())
	require.True(t, callTool(t, mcptest.Connect(t, server, ""), "list", nil).IsError)
}

// TestFarAboveTheCeiling: refused by its size alone (B170).
func TestCeiling(t *testing.T) {
	t.Parallel()
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("a line of text\n", 20_000)}}}
	for _, tt := range []struct{ bytes, want int }{{NoBudget, 100_000}, {1 << 40, 100_000}, {50_000, 50_000}, {0, 80_000}, {1, 2048}, {math.MinInt, 100_000}} {
		got := callTool(t, mcptest.Connect(t, serve(&BudgetOptions{Bytes: tt.bytes, Ceiling: 100_000}, nil, answer(res)), ""), "list", nil)
		require.LessOrEqual(t, len(marshal(t, got)), tt.want)
		require.Greater(t, len(marshal(t, got)), tt.want/3)
		require.False(t, got.IsError)
	}
	require.Equal(t, minBytes, NewBudget(&BudgetOptions{Ceiling: 5}).toolLimit("any"))
	require.Equal(t, 7000, NewBudget(&BudgetOptions{PerTool: map[string]int{"list": 7000}}).toolLimit("list"))
	require.Equal(t, DefaultBytes, NewBudget(&BudgetOptions{PerTool: map[string]int{"list": 0}}).toolLimit("list"))
}

// TestHints: how to get the rest depends on what the tool takes.
func TestResources(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, revision string) {
		for _, tt := range []struct {
			name string
			in   []*mcp.ResourceContents
			want []string
		}{
			{"small", []*mcp.ResourceContents{{Text: "hello"}}, []string{"hello"}},
			{"text", []*mcp.ResourceContents{{Text: strings.Repeat("a line of text\n", 10_000)}}, []string{"a line of text\n", "[This resource was cut: it has 160 kB, and at most 80 kB can be sent. Shown: 7"}},
			{"JSON", []*mcp.ResourceContents{{Text: marshal(t, someOrders(2000)), MIMEType: "application/json"}}, []string{`{"total":2000,"orders":[`, "[This resource was cut: it has 4"}},
			{"blob", []*mcp.ResourceContents{{Blob: make([]byte, 100_000), MIMEType: "image/png"}, {Text: "hello"}}, []string{"[A blob (image/png, 100 kB) was left out: the resource is too large]", "hello", "[This resource was cut: it has 133 kB, and at most 80 kB can be sent. Shown: 1 of 2 blocks.]"}},
			{"far too much", []*mcp.ResourceContents{{Text: strings.Repeat("a", 35<<20)}}, []string{"[This resource was cut: it has 36 MB, and at most 80 kB can be sent. Shown: 0 of 1 blocks.]"}},
		} {
			server := mcptest.Server()
			server.AddResource(&mcp.Resource{URI: "file:///a", Name: "a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: tt.in}, nil
			})
			server.AddReceivingMiddleware(NewBudget(&BudgetOptions{Observer: observe.Discard}).Middleware())
			res, err := mcptest.Connect(t, server, revision).ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "file:///a"})
			require.NoError(t, err, tt.name)
			require.LessOrEqual(t, len(marshal(t, res)), DefaultBytes, tt.name)
			require.Len(t, res.Contents, len(tt.want), tt.name)
			for i, want := range tt.want {
				require.Truef(t, strings.HasPrefix(res.Contents[i].Text, want), "%s: %.200s", tt.name, res.Contents[i].Text)
				if strings.HasPrefix(want, "{") {
					require.True(t, json.Valid([]byte(res.Contents[i].Text)))
				}
			}
		}
	})
}

// TestPageUnderBudget: a page whose rows are long ends early instead of being
// cut, and its large integers keep their digits although the SDK rounds them.
func TestPageUnderBudget(t *testing.T) {
	t.Parallel()
	type big struct {
		ID   int64  `json:"id"`
		Text string `json:"text"`
	}
	all := make([]big, 100)
	for i := range all {
		all[i] = big{ID: 9_007_199_254_740_993 + int64(i), Text: strings.Repeat("é", 2000)}
	}
	p := SliceByKey(func(context.Context, struct{}) ([]big, error) { return all, nil }, func(b big) int64 { return b.ID }, &Options{Bounds: Bounds{Limit: 50}})
	both(t, func(t *testing.T, revision string) {
		server := mcptest.Server()
		mcp.AddTool(server, Tool[Input](&mcp.Tool{Name: "list"}, p), func(ctx context.Context, req *mcp.CallToolRequest, in Input) (*mcp.CallToolResult, Page[big], error) {
			return p.Page(ctx, req, in, struct{}{})
		})
		server.AddReceivingMiddleware(NewBudget(&BudgetOptions{Bytes: 30_000, Observer: observe.Discard}).Middleware())
		cs := mcptest.Connect(t, server, revision)
		var got []big
		var last Page[big]
		for b, err := range Walk(context.Background(), func(_ context.Context, cursor string) (Page[big], error) {
			arguments := map[string]any{}
			if cursor != "" {
				arguments["cursor"] = cursor
			}
			res := callTool(t, cs, "list", arguments)
			require.False(t, res.IsError, mcptest.Text(res))
			require.LessOrEqual(t, len(marshal(t, res)), 30_000)
			require.NotContains(t, res.Meta, wire.MetaBudget, "nothing was cut")
			last = Page[big]{}
			return last, json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &last)
		}) {
			require.NoError(t, err)
			got = append(got, b)
		}
		require.Equal(t, all, got)
	})
}

// TestExactIntegers: see [restoreExact].
func TestExactIntegers(t *testing.T) {
	t.Parallel()
	exact := `{"items":[{"id":9007199254740993}],"next_cursor":null,"has_more":false}`
	rounded := `{"has_more":false,"items":[{"id":9007199254740992}],"next_cursor":null}`
	for _, tt := range []struct {
		res  *mcp.CallToolResult
		want string
	}{
		{&mcp.CallToolResult{StructuredContent: json.RawMessage(rounded)}, exact},
		{&mcp.CallToolResult{StructuredContent: json.RawMessage(`{"items":[]}`)}, `{"items":[]}`}, // the handler returned something else
	} {
		h := NewBudget(nil).Middleware()(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			bounded(ctx).exact.Store(&exact)
			return tt.res, nil
		})
		got, err := h(context.Background(), "", request(nil))
		require.NoError(t, err)
		require.Equal(t, tt.want, string(got.(*mcp.CallToolResult).StructuredContent.(json.RawMessage)))
	}
}

// TestOneBudgetForMany: one budget and one pager serve many servers at once.
func TestOneBudgetForMany(t *testing.T) {
	t.Parallel()
	b := NewBudget(&BudgetOptions{Observer: observe.Discard, Spill: &SpillOptions{}})
	p := pagers(500, quiet(Bounds{}))["byKey"]
	var wg sync.WaitGroup
	for i := range 6 {
		server := mcptest.Server()
		server.AddTool(&mcp.Tool{Name: "list", InputSchema: bare, OutputSchema: json.RawMessage(`{"type":"object"}`)}, answer(&mcp.CallToolResult{StructuredContent: someOrders(700)}))
		mcp.AddTool(server, Tool[Input](&mcp.Tool{Name: "search"}, p), func(ctx context.Context, req *mcp.CallToolRequest, in Input) (*mcp.CallToolResult, Page[row], error) {
			return p.Page(ctx, req, in, filter{})
		})
		b.Install(server)
		server.AddReceivingMiddleware(b.Middleware())
		cs := mcptest.Connect(t, server, mcptest.Revisions[i%2])
		for range 3 {
			wg.Go(func() {
				res := callTool(t, cs, "list", nil)
				require.False(t, res.IsError)
				w, _ := readOn(t, cs, res)
				require.Equal(t, 700, w.Total)
				require.False(t, callTool(t, cs, "search", nil).IsError)
				require.True(t, callTool(t, cs, "search", map[string]any{"limit": 51}).IsError)
			})
		}
	}
	wg.Wait()
}

// TestPageWithCostlyArguments: they are in the note, where a < takes six bytes,
// and no row may be lost to them.
func TestPageWithCostlyArguments(t *testing.T) {
	t.Parallel()
	for _, length := range []int{600, 1000, 3900} {
		all := rows(1000)
		for i := range all {
			all[i].Name = strings.Repeat("s", 200)
		}
		p := Slice(func(context.Context, filter) ([]row, error) { return all, nil }, quiet(Bounds{Limit: 500, Max: 500}))
		server := serve(&BudgetOptions{Bytes: 60_000}, &mcp.Tool{InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			in, err := ParseInput(req.Params.Arguments, Bounds{Max: 500})
			if err != nil {
				return nil, err
			}
			var q filter
			_ = json.Unmarshal(req.Params.Arguments, &q)
			res, _, err := p.Page(ctx, req, in, q)
			return res, err
		})
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if r, ok := req.(*mcp.CallToolRequest); ok { // as other clients send it
					r.Params.Arguments = json.RawMessage(strings.ReplaceAll(string(r.Params.Arguments), `\u003c`, "<"))
				}
				return next(ctx, method, req)
			}
		})
		cs := mcptest.Connect(t, server, "")
		arguments := map[string]any{"status": strings.Repeat("<", length)}
		seen := 0
		for {
			res := callTool(t, cs, "list", arguments)
			require.NotContains(t, mcptest.Text(res), "This result was cut")
			var page Page[row]
			require.NoError(t, json.Unmarshal([]byte(marshal(t, res.StructuredContent)), &page))
			for _, r := range page.Items {
				seen++
				require.Equal(t, seen, r.ID)
			}
			if page.NextCursor == nil {
				break
			}
			arguments["cursor"] = *page.NextCursor
		}
		require.Equal(t, 1000, seen)
	}
}

// TestCutPage: a page that is cut for what its handler has added says that rows
// are missing.
func TestCutPage(t *testing.T) {
	t.Parallel()
	all := rows(1000)
	for i := range all {
		all[i].Name = strings.Repeat("s", 200)
	}
	p := Slice(func(context.Context, filter) ([]row, error) { return all, nil }, quiet(Bounds{Limit: 500, Max: 500}))
	schema, err := Extend(nil, Bounds{Limit: 500, Max: 500})
	require.NoError(t, err)
	for _, opts := range []*BudgetOptions{nil, spilling()} {
		server := serve(opts, &mcp.Tool{InputSchema: schema}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res, _, err := p.Page(ctx, req, Input{}, filter{})
			res.Content = append(res.Content, &mcp.TextContent{Text: strings.Repeat("help ", 600)})
			return res, err
		})
		text := mcptest.Text(callTool(t, mcptest.Connect(t, server, ""), "list", nil))
		require.Regexp(t, `Its cursor continues behind all \d+ items: \d+ of them are on no page\.`, text)
	}
}

func TestHugeCeiling(t *testing.T) {
	t.Parallel()
	for _, ceiling := range []int{math.MaxInt, math.MaxInt >> 3, math.MaxInt >> 10} {
		server := serve(&BudgetOptions{Ceiling: ceiling, Bytes: NoBudget}, &mcp.Tool{InputSchema: map[string]any{"type": "object"}}, answer(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}))
		res := callTool(t, mcptest.Connect(t, server, ""), "list", nil)
		require.False(t, res.IsError)
		require.Equal(t, "hello", mcptest.Text(res))
	}
}

// TestBudgetInsideAnother: the lower of the two counts, wherever it is.
func TestBudgetInsideAnother(t *testing.T) {
	t.Parallel()
	for _, limits := range [][2]int{{5000, 80_000}, {80_000, 5000}} {
		server := mcptest.Server()
		for _, n := range limits { // the last one added is the outer one
			server.AddReceivingMiddleware(NewBudget(&BudgetOptions{Bytes: n, Observer: observe.Discard}).Middleware())
		}
		server.AddTool(&mcp.Tool{Name: "list", InputSchema: map[string]any{"type": "object"}}, answer(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("hello\n", 10_000)}}}))
		server.AddResource(&mcp.Resource{URI: "x://y", Name: "y"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "x://y", Text: strings.Repeat("hello\n", 10_000)}}}, nil
		})
		cs := mcptest.Connect(t, server, "")
		require.Less(t, jsonSize(callTool(t, cs, "list", nil)), 5000)
		res, err := cs.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "x://y"})
		require.NoError(t, err)
		require.Less(t, jsonSize(res), 5000)
	}
}
