package discovery_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/internal/mcptest"
)

func TestListEvery(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		synctest.Test(t, func(t *testing.T) {
			listings, hidden := 0, false
			filter := func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					res, err := next(ctx, method, req)
					if l, ok := res.(*mcp.ListToolsResult); ok {
						listings++
						if hidden {
							l.Tools = slices.DeleteFunc(l.Tools, func(t *mcp.Tool) bool { return t.Name == "list_recent" })
						}
					}
					return res, err
				}
			}
			s, r := notes(t, &discovery.Options{ListEvery: time.Second}, filter)
			c := mcptest.Connect(t, s, revision)
			call := func(name string, args map[string]any) string {
				res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
				if err != nil {
					return err.Error()
				}
				return mcptest.Text(res)
			}
			require.Contains(t, call("add_note", map[string]any{"text": "x"}), `add_note {"text":"x"}`)
			require.Equal(t, 1, listings)
			time.Sleep(time.Second)
			require.Contains(t, call("add_note", map[string]any{"text": "x"}), `add_note {"text":"x"}`)
			require.Equal(t, 1, listings, "an exact call within the time asks for nothing")

			require.Contains(t, call("add_note", map[string]any{"content": "x"}), `add_note {"text":"x"}`)
			require.Equal(t, 2, listings, "what has to be mended goes by what is listed now")
			require.Contains(t, call("addNote", map[string]any{"text": "x"}), `add_note {"text":"x"}`)
			require.Equal(t, 3, listings, "so does what has to be resolved")
			require.EqualValues(t, 4, r.Stats().Calls)

			s.RemoveTools("add_note")
			require.Contains(t, call("add_note", map[string]any{"text": "x"}), "unknown tool", "the server's own answer")

			require.Equal(t, "list_recent {}", call("list_recent", map[string]any{}))
			hidden = true
			require.Equal(t, "list_recent {}", call("list_recent", map[string]any{}), "a listing that is not asked for hides nothing")
			time.Sleep(time.Second + 1)
			require.Contains(t, call("list_recent", map[string]any{}), "no tool named", "the next one does")
		})
	}
}

// What one server has listed says nothing about another's tools.
func TestListEveryIsOfOneServer(t *testing.T) {
	t.Parallel()
	s, r := notes(t, &discovery.Options{ListEvery: time.Hour})
	other := mcptest.Server()
	mcp.AddTool(other, &mcp.Tool{Name: "add_notes", Annotations: readOnly}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "other"}}}, nil, nil
	})
	other.AddReceivingMiddleware(r.Middleware())
	for range 2 {
		_, err := mcptest.Connect(t, s, "").CallTool(t.Context(), &mcp.CallToolParams{Name: "list_recent"})
		require.NoError(t, err)
		res, err := mcptest.Connect(t, other, "").CallTool(t.Context(), &mcp.CallToolParams{Name: "list_recent"})
		require.NoError(t, err)
		require.Contains(t, mcptest.Text(res), "no tool named")
	}
}
