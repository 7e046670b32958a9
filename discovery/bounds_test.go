package discovery

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
)

// A value out of bounds is refused with the path, the bound, and a call that
// would be taken.
func TestBounds(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","required":["name"],"additionalProperties":false,"properties":{
		"name":{"type":"string","minLength":2,"maxLength":5},
		"code":{"type":"string","pattern":"^[A-Z]{3}$"},
		"limit":{"type":"integer","minimum":1,"maximum":50},
		"ratio":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1},
		"step":{"type":"integer","multipleOf":5},
		"tags":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","maxLength":3}},
		"deep":{"type":"object","properties":{"limit":{"type":["integer","null"],"maximum":9}}},
		"maybe":{"anyOf":[{"type":"integer","maximum":7},{"type":"null"}]}}}`)
	server := mcptest.Server()
	server.AddTool(&mcp.Tool{Name: "search", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
	})
	server.AddReceivingMiddleware(New(&Options{Observer: observe.Discard}).Middleware())
	for _, tt := range []struct {
		arguments string
		says      string
		example   string
	}{
		{`{"name":"abc","limit":500}`, `/limit: sent the number 500, wanted at most 50`, `{"name":"abc","limit":50}`},
		{`{"name":"abc","limit":"500"}`, `/limit: sent the number 500, wanted at most 50`, `{"name":"abc","limit":50}`},
		{`{"name":"abc","limit":0}`, `/limit: sent the number 0, wanted at least 1`, `{"name":"abc","limit":1}`},
		{`{"name":"abc","limit":99999999999999999999999}`, `wanted at most 50`, `{"name":"abc","limit":50}`},
		{`{"name":"abc","ratio":0}`, `/ratio: sent the number 0, wanted more than 0`, `{"name":"abc"}`},
		{`{"name":"abc","ratio":1.5}`, `/ratio: sent the number 1.5, wanted less than 1`, `{"name":"abc"}`},
		{`{"name":"abc","step":7}`, `/step: sent the number 7, wanted a multiple of 5`, `{"name":"abc"}`},
		{`{"name":"a"}`, `/name: sent the string "a", wanted at least 2 characters, and it has 1`, `{"name":"<name>"}`},
		{`{"name":"abcdef"}`, `wanted at most 5 characters, and it has 6`, `{"name":"<name>"}`},
		{`{"name":"abc","code":"x"}`, `/code: sent the string "x", wanted a text that matches ^[A-Z]{3}$`, `{"name":"abc"}`},
		{`{"name":"abc","tags":[]}`, `/tags: sent an array, wanted at least 1 item`, `{"name":"abc"}`},
		{`{"name":"abc","tags":["a","b","c"]}`, `/tags: sent an array, wanted at most 2 items`, `{"name":"abc"}`},
		{`{"name":"abc","tags":["abcd"]}`, `/tags/0: sent the string "abcd", wanted at most 3 characters, and it has 4`, ``},
		{`{"name":"abc","deep":{"limit":10}}`, `/deep/limit: sent the number 10, wanted at most 9`, `{"name":"abc","deep":{"limit":9}}`},
		{`{"name":"abc","maybe":8}`, `/maybe: sent the number 8, wanted at most 7`, `{"name":"abc","maybe":7}`},
	} {
		for _, revision := range mcptest.Revisions {
			cs := mcptest.Connect(t, server, revision)
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "search", Arguments: json.RawMessage(tt.arguments)})
			require.NoError(t, err)
			require.True(t, res.IsError, tt.arguments)
			text := mcptest.Text(res)
			require.Contains(t, text, tt.says)
			require.Contains(t, text, tt.example)
		}
	}
}
