package pagination

import (
	"context"
	"encoding/json"
	stderrors "errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/observe"
)

var discard = &BudgetOptions{Observer: observe.Discard}

func TestHandler(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, revision string) {
		server := mcptest.Server()
		server.AddTool(&mcp.Tool{Name: "list", InputSchema: bare}, Handler(discard, answer(&mcp.CallToolResult{StructuredContent: someOrders(1500)})))
		server.AddTool(&mcp.Tool{Name: "small", InputSchema: bare}, Handler(discard, answer(&mcp.CallToolResult{StructuredContent: someOrders(5)})))
		cs := mcptest.Connect(t, server, revision)
		res := callTool(t, cs, "list", nil)
		require.LessOrEqual(t, len(marshal(t, res)), DefaultBytes)
		require.Contains(t, mcptest.Text(res), "This result was cut")
		require.Len(t, callTool(t, cs, "small", nil).StructuredContent.(map[string]any)["orders"], 5)
	})
	strict := &BudgetOptions{Observer: observe.Discard, OutputSchema: json.RawMessage(`{"properties":{"orders":{"minItems":1500}}}`)}
	res, err := Handler(strict, answer(&mcp.CallToolResult{StructuredContent: someOrders(1500)}))(context.Background(), request(nil))
	require.NoError(t, err)
	require.True(t, res.IsError)

	boom := stderrors.New("boom")
	_, err = Handler(nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, boom })(context.Background(), request(nil))
	require.Equal(t, boom, err)
	res, err = Handler(nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })(context.Background(), request(nil))
	require.NoError(t, err)
	require.Nil(t, res)
}

// oneWay encodes and cannot be decoded.
type oneWay struct{ rows []int }

func (o oneWay) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any{"rows": o.rows}) }

type loose struct {
	Rows []any `json:"rows"`
}

func addFor[Out any](server *mcp.Server, name string, res *mcp.CallToolResult, out Out, err error) {
	mcp.AddTool(server, &mcp.Tool{Name: name}, HandlerFor(discard, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, Out, error) {
		return res, out, err
	}))
}

func TestHandlerFor(t *testing.T) {
	t.Parallel()
	long := stderrors.New("the end: " + strings.Repeat("a line of text\n", 10_000))
	wireError := &jsonrpc.Error{Code: -32000, Message: strings.Repeat("a", 100_000)}
	many := make([]any, 4000)
	for i := range many {
		many[i] = json.Number("9007199254740993")
	}
	// The schema of Out is held to, as the SDK will.
	type twoRows struct {
		Rows [2]string `json:"rows"`
	}
	huge := strings.Repeat("x", 100_000)
	server := mcptest.Server()
	addFor(server, "typed", nil, someOrders(1500), nil)
	all := someOrders(1500)
	addFor(server, "pointer", nil, &all, nil)
	addFor(server, "slice", nil, someOrders(1500).Orders, nil)
	addFor(server, "untyped", nil, any(map[string]any{"rows": many}), nil)
	addFor(server, "loose", nil, loose{many}, nil)
	addFor(server, "text", &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: long.Error()}}}, any(nil), nil)
	addFor(server, "own text", &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "5,000 orders"}}}, someOrders(1500), nil)
	addFor(server, "error", nil, any(nil), long)
	addFor(server, "protocol error", nil, any(nil), error(wireError))
	addFor(server, "one way", nil, oneWay{make([]int, 30_000)}, nil)
	addFor(server, "two rows", nil, twoRows{[2]string{huge, huge}}, nil)
	addFor(server, "small", nil, someOrders(3), nil)
	addFor(server, "nothing", nil, any(nil), nil)
	mcp.AddTool(server, &mcp.Tool{Name: "far too much"}, HandlerFor(&BudgetOptions{Ceiling: DefaultBytes, Observer: observe.Discard}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, orders, error) {
		return nil, someOrders(6000), nil
	}))
	both(t, func(t *testing.T, revision string) {
		cs := mcptest.Connect(t, server, revision)
		for _, name := range []string{"typed", "pointer", "slice", "untyped", "loose", "text", "own text"} {
			res := callTool(t, cs, name, nil)
			require.False(t, res.IsError, "%s: %s", name, mcptest.Text(res))
			require.LessOrEqual(t, len(marshal(t, res)), DefaultBytes, name)
			require.Contains(t, mcptest.Text(res), "This result was cut", name)
			require.Contains(t, res.Meta, wire.MetaBudget, name)
			if name == "text" || name == "own text" {
				continue
			}
			text := res.Content[0].(*mcp.TextContent).Text
			if name == "slice" {
				text = res.Content[1].(*mcp.TextContent).Text
			}
			require.True(t, sameJSON(text, marshal(t, res.StructuredContent)), name)
			if name == "untyped" {
				require.Contains(t, text, "9007199254740993")
			}
		}
		res := callTool(t, cs, "own text", nil)
		require.Equal(t, "5,000 orders", res.Content[0].(*mcp.TextContent).Text)
		require.Len(t, res.Content, 2)

		for name, want := range map[string]string{"error": "the end: a line of text", "two rows": "a shorter version of it would not be a valid result", "one way": "a shorter version of it would not be a valid result", "far too much": "that is more than the server will look at"} {
			res := callTool(t, cs, name, nil)
			require.True(t, res.IsError, name)
			require.Contains(t, mcptest.Text(res), want)
			require.LessOrEqual(t, len(marshal(t, res)), DefaultBytes, name)
		}
		_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "protocol error"})
		var e *jsonrpc.Error
		require.ErrorAs(t, err, &e)
		require.EqualValues(t, -32000, e.Code)

		require.NotContains(t, callTool(t, cs, "small", nil).Meta, wire.MetaBudget)
		require.Empty(t, callTool(t, cs, "nothing", nil).Content)
	})
}

// TestWorkIsDoneOnce: a handler that is wrapped behind middleware too is cut
// once, to the lower of the two limits.
func TestWorkIsDoneOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ outer, inner, want int }{{40_000, 20_000, 20_000}, {20_000, 40_000, 20_000}} {
		var events []observe.Event
		observer := observe.Func(func(_ context.Context, e observe.Event) { events = append(events, e) })
		inner := &BudgetOptions{Bytes: tt.inner, Observer: observer}
		server := mcptest.Server()
		server.AddTool(&mcp.Tool{Name: "raw", InputSchema: bare}, Handler(inner, Handler(inner, answer(&mcp.CallToolResult{StructuredContent: someOrders(500)}))))
		mcp.AddTool(server, &mcp.Tool{Name: "typed"}, HandlerFor(inner, HandlerFor(inner, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, orders, error) {
			return nil, someOrders(500), nil
		})))
		b := NewBudget(&BudgetOptions{Bytes: tt.outer, Observer: observer})
		server.AddReceivingMiddleware(b.Middleware(), b.Middleware())
		cs := mcptest.Connect(t, server, "")
		for _, tool := range []string{"raw", "typed"} {
			events = nil
			res := callTool(t, cs, tool, nil)
			require.LessOrEqual(t, len(marshal(t, res)), tt.want)
			require.Greater(t, len(marshal(t, res)), tt.want-3000)
			require.Len(t, events, 1)
			require.Equal(t, 1, strings.Count(mcptest.Text(res), "This result was cut"))
		}
	}
}

func TestExceeds(t *testing.T) {
	t.Parallel()
	type tree struct {
		Name     string
		Children []*tree
		Hidden   string `json:"-"`
	}
	deep := &tree{}
	for range 200 {
		deep = &tree{Children: []*tree{deep}, Name: "x"}
	}
	for _, v := range []any{nil, 5, "text", []byte("bytes"), map[string]int{"a": 1}, someOrders(50), &tree{Name: "n", Hidden: strings.Repeat("h", 999)}, json.RawMessage(`{}`), [3]bool{}, map[int]string{1: "a"}, deep, json.Number("5"), oneWay{}, struct{ error }{}} {
		size := len(marshal(t, v))
		require.False(t, exceeds(v, size), "%T: surely no more than it has", v)
	}
	require.True(t, exceeds(someOrders(50), 2000))
	require.True(t, exceeds(map[string]any{"a": []any{strings.Repeat("a", 100)}}, 90))
	require.True(t, exceeds([]int{1, 2, 3}, 5))
	require.True(t, exceeds(json.RawMessage(strings.Repeat(" ", 50)), 40))
}
