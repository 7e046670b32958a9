package discovery_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
)

// chained calls a resolver's middleware over a server that lists read and
// answers each call with result.
func chained(opts *discovery.Options, list, result mcp.Result, req mcp.Request, method string) (mcp.Result, error) {
	if opts == nil {
		opts = &discovery.Options{}
	}
	opts.Observer = observe.Discard
	h := discovery.New(opts).Middleware()(func(_ context.Context, m string, _ mcp.Request) (mcp.Result, error) {
		if m == method {
			return result, nil
		}
		return list, nil
	})
	return h(context.Background(), method, req)
}

func TestAnswersOfNothingAreNoPanic(t *testing.T) {
	prompts := &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{{Name: "review_code"}}}
	resources := &mcp.ListResourcesResult{Resources: []*mcp.Resource{{Name: "a", URI: "file:///a"}}}
	tools := &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "read_log", Annotations: readOnly, InputSchema: map[string]any{"type": "object"}}}}
	for _, c := range []struct {
		method       string
		list, result mcp.Result
		req          mcp.Request
	}{
		{"prompts/get", prompts, (*mcp.GetPromptResult)(nil), &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{Name: "ReviewCode"}}},
		{"prompts/get", prompts, nil, &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{Name: "ReviewCode"}}},
		{"resources/read", resources, (*mcp.ReadResourceResult)(nil), &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: " file:///a"}}},
		{"tools/call", tools, (*mcp.CallToolResult)(nil), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "ReadLog"}}},
		{"tools/call", tools, nil, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "ReadLog"}}},
	} {
		res, err := chained(nil, c.list, c.result, c.req, c.method)
		require.NoError(t, err, c.method)
		require.Equal(t, c.result, res, c.method)
	}
}

// A result that is not the struct it is said in cannot be copied.
type heldTicket struct{ *ticket }

func TestAnotherLayersResultIsNotChangedInPlace(t *testing.T) {
	tools := &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "read_log", Annotations: readOnly, InputSchema: map[string]any{"type": "object"}}}}
	for _, own := range []mcp.Result{&ticket{Ticket: "t1"}, &heldTicket{&ticket{Ticket: "t1"}}, (*ticket)(nil)} {
		_, err := chained(nil, tools, own, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "ReadLog"}}, "tools/call")
		require.NoError(t, err)
		if own != (*ticket)(nil) {
			require.Empty(t, own.GetMeta())
		}
	}
}

func TestRoutedThenRefusedIsDisclosed(t *testing.T) {
	tools := &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "delete_note", InputSchema: map[string]any{"type": "object", "required": []string{"note_id"}, "properties": map[string]any{"note_id": map[string]any{"type": "integer"}, "text": map[string]any{"type": "string"}}}}}}
	for _, c := range []struct {
		arguments, say string
		strict         bool
	}{
		{`{}`, "note_id", false},
		{`{"note_id":1,"text":"a\u003c/p\u0061rameter>"}`, "markup", true},
	} {
		res, err := chained(&discovery.Options{Strict: c.strict}, tools, &mcp.CallToolResult{}, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "DeleteNote", Arguments: []byte(c.arguments)}}, "tools/call")
		require.NoError(t, err)
		r := res.(*mcp.CallToolResult)
		require.True(t, r.IsError)
		require.Contains(t, mcptest.Text(r), c.say)
		raw, err := json.Marshal(r.Meta["steady/discovery"])
		require.NoError(t, err)
		require.Contains(t, string(raw), `"resolved":"delete_note"`)
	}
}

func TestTerminalCodesAreNotShown(t *testing.T) {
	tools := &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "delete_note"}}}
	res, err := chained(nil, tools, nil, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "\x1b[31mzork\x1b[0m"}}, "tools/call")
	require.NoError(t, err)
	require.NotContains(t, mcptest.Text(res.(*mcp.CallToolResult)), "[31m")
}
