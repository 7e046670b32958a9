package discovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
)

type paging struct {
	Query  string `json:"query"`
	ID     int64  `json:"id,omitempty"`
	Limit  int    `json:"limit,omitempty"`
	Nested struct {
		Deep bool `json:"deep,omitempty"`
	} `json:"nested,omitzero"`
}

type found struct {
	Query string `json:"query"`
	ID    int64  `json:"id"`
	Limit int    `json:"limit"`
}

var observed = &discovery.Options{Observer: observe.Discard}

// A typed handler behind HandlerFor must behave as one behind mcp.AddTool.
func TestHandlerForIsLikeAddTool(t *testing.T) {
	t.Parallel()
	tool := func(name string) *mcp.Tool {
		return &mcp.Tool{Name: name, Description: "Finds", Annotations: readOnly}
	}
	search := func(_ context.Context, _ *mcp.CallToolRequest, in paging) (*mcp.CallToolResult, found, error) {
		switch in.Query {
		case "fail":
			return nil, found{}, errors.New("no such index")
		case "protocol":
			return nil, found{}, &jsonrpc.Error{Code: 7, Message: "seven"}
		case "text":
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "own"}}}, found{}, nil
		}
		return nil, found{in.Query, in.ID, in.Limit}, nil
	}
	pointer := func(_ context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, *found, error) {
		return nil, nil, nil
	}
	slice := func(_ context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, []string, error) {
		return nil, []string{"a"}, nil
	}
	for _, revision := range mcptest.Revisions {
		s := mcptest.Server()
		mcp.AddTool(s, tool("sdk_search"), search)
		mcp.AddTool(s, tool("sdk_pointer"), pointer)
		mcp.AddTool(s, tool("sdk_slice"), slice)
		add(t, s, tool("our_search"), search)
		add(t, s, tool("our_pointer"), pointer)
		add(t, s, tool("our_slice"), slice)
		c := mcptest.Connect(t, s, revision)
		list, err := c.ListTools(t.Context(), nil)
		require.NoError(t, err)
		bySuffix := map[string][]string{}
		for _, tool := range list.Tools {
			raw, err := json.Marshal([]any{tool.InputSchema, tool.OutputSchema})
			require.NoError(t, err)
			bySuffix[tool.Name[4:]] = append(bySuffix[tool.Name[4:]], string(raw))
		}
		for name, schemas := range bySuffix {
			require.Len(t, schemas, 2)
			require.JSONEq(t, schemas[0], schemas[1], name)
		}
		for _, call := range []struct{ tool, args string }{
			{"search", `{"query":"x","limit":3}`}, {"search", `{"query":"fail"}`}, {"search", `{"query":"text"}`}, {"search", `{"query":"protocol"}`}, {"pointer", `{}`}, {"slice", `{}`},
		} {
			sdk, err1 := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "sdk_" + call.tool, Arguments: json.RawMessage(call.args)})
			our, err2 := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "our_" + call.tool, Arguments: json.RawMessage(call.args)})
			require.Equal(t, err1, err2)
			if err1 == nil {
				// The text is the same JSON; the SDK sorts its keys.
				for _, r := range []*mcp.CallToolResult{sdk, our} {
					text := r.Content[0].(*mcp.TextContent)
					var v any
					if json.Unmarshal([]byte(text.Text), &v) == nil {
						raw, _ := json.Marshal(v)
						text.Text = string(raw)
					}
				}
				a, _ := json.Marshal(sdk)
				b, _ := json.Marshal(our)
				require.JSONEq(t, string(a), string(b))
			}
		}
	}
}

func add[In, Out any](t testing.TB, s *mcp.Server, tool *mcp.Tool, h mcp.ToolHandlerFor[In, Out]) {
	t.Helper()
	filled, raw, err := discovery.HandlerFor(tool, h, observed)
	require.NoError(t, err)
	s.AddTool(filled, raw)
}

func TestHandlerForMends(t *testing.T) {
	t.Parallel()
	s := mcptest.Server()
	add(t, s, &mcp.Tool{Name: "search", InputSchema: json.RawMessage(`{"type":"object","required":["query"],"properties":{"query":{"type":"string"},"id":{"type":"integer"},"limit":{"type":"integer","default":10}}}`)},
		func(_ context.Context, _ *mcp.CallToolRequest, in paging) (*mcp.CallToolResult, found, error) {
			return nil, found{in.Query, in.ID, in.Limit}, nil
		})
	c := mcptest.Connect(t, s, "")
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "search", Arguments: json.RawMessage(`{"question":"x","id":"9007199254740993","LIMIT":7}`)})
	require.NoError(t, err)
	// Every digit arrives, the default is filled in, and a key in another case
	// that nobody asked to mend is not taken for a field.
	require.Equal(t, `{"query":"x","id":9007199254740993,"limit":10}`, res.Content[0].(*mcp.TextContent).Text)
	raw, err := json.Marshal(res.Meta["steady/discovery"])
	require.NoError(t, err)
	require.JSONEq(t, `{"arguments":[{"path":"/query","kind":"synonym","from":"question"},{"path":"/id","kind":"integer"}]}`, string(raw))

	res, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "search", Arguments: json.RawMessage(`{"limit":"many"}`)})
	require.NoError(t, err)
	require.True(t, res.IsError)
	require.Contains(t, mcptest.Text(res), "/query is required")
}

func TestHandlerAndMiddlewareWorkOnce(t *testing.T) {
	t.Parallel()
	tool := &mcp.Tool{Name: "search", InputSchema: json.RawMessage(`{"type":"object","required":["query"],"properties":{"query":{"type":"string"}}}`), Annotations: readOnly}
	h, err := discovery.Handler(tool, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}}, nil
	}, observed)
	require.NoError(t, err)
	for _, both := range []bool{false, true} {
		s := mcptest.Server()
		s.AddTool(tool, h)
		if both {
			s.AddReceivingMiddleware(discovery.New(observed).Middleware())
		}
		c := mcptest.Connect(t, s, "")
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "search", Arguments: map[string]any{"q": "x"}})
		require.NoError(t, err)
		require.Equal(t, "{\"query\":\"x\"}\nArguments were adjusted: \"q\" was taken as /query.", mcptest.Text(res))
	}
}

func TestHandlerNeedsASchema(t *testing.T) {
	t.Parallel()
	nop := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }
	_, err := discovery.Handler(nil, nop, nil)
	require.Error(t, err)
	_, err = discovery.Handler(&mcp.Tool{Name: "x", InputSchema: json.RawMessage(`{"$ref":"https://example.com/x"}`)}, nop, nil)
	require.ErrorContains(t, err, "input schema of x")
	_, _, err = discovery.HandlerFor[chan int, any](&mcp.Tool{Name: "x"}, nil, nil)
	require.Error(t, err)
}
