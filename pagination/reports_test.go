package pagination

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
)

// TestReports has a row for every public report about sizes and paging that
// the package was written for. Those that are answered elsewhere say where.
func TestReports(t *testing.T) {
	t.Parallel()
	type report struct {
		id, what string
		check    func(t *testing.T, revision string)
		// elsewhere says why this package has nothing to check.
		elsewhere string
	}
	p := pagers(1000, quiet(Bounds{}))["keyset"]
	// paging serves p as "list", behind a budget.
	paging := func(t *testing.T, revision string) *mcp.ClientSession {
		server := serve(nil, nil, answer(&mcp.CallToolResult{}))
		mcp.AddTool(server, Tool[searchInput](&mcp.Tool{Name: "list"}, p), func(ctx context.Context, req *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, Page[row], error) {
			return p.Page(ctx, req, in.Input, filter{Status: in.Status})
		})
		return mcptest.Connect(t, server, revision)
	}
	refused := func(arguments ...string) func(t *testing.T, revision string) {
		return func(t *testing.T, revision string) {
			cs := paging(t, revision)
			for _, a := range arguments {
				res := callTool(t, cs, "list", json.RawMessage(a))
				require.True(t, res.IsError, a)
				require.NotEmpty(t, mcptest.Text(res))
			}
		}
	}
	many := json.RawMessage(marshal(t, someOrders(120_000)))
	for _, r := range []report{
		{id: "B163", what: "a result over the client's limit is thrown away whole", check: func(t *testing.T, revision string) {
			whole := map[string]any{"nodes": someOrders(4000).Orders} // 600 kB, about 170,000 tokens
			res := callTool(t, mcptest.Connect(t, serve(nil, nil, answer(&mcp.CallToolResult{StructuredContent: whole})), revision), "list", map[string]any{"selector": ""})
			require.LessOrEqual(t, len(marshal(t, res)), DefaultBytes)
			var got struct{ Nodes []order }
			require.NoError(t, json.Unmarshal([]byte(marshal(t, res.StructuredContent)), &got))
			require.Equal(t, someOrders(4000).Orders[:len(got.Nodes)], got.Nodes, "whole items only")
			require.Contains(t, mcptest.Text(res), fmt.Sprintf("Shown: %d of 4,000 items of /nodes", len(got.Nodes)))
		}},
		{id: "B165", what: "a model invents a limit for a tool that has none", check: func(t *testing.T, revision string) {
			server := mcptest.Server()
			mcp.AddTool(server, &mcp.Tool{Name: "list"}, HandlerFor(nil, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			}))
			res := callTool(t, mcptest.Connect(t, server, revision), "list", map[string]any{"limit": "5"})
			require.True(t, res.IsError)
			require.Contains(t, mcptest.Text(res), `"limit"`)
		}},
		{id: "B166", what: "clients cut at 10 kB, through base64", check: func(t *testing.T, revision string) {
			picture := strings.Repeat("aB3/", 4000)
			res := callTool(t, mcptest.Connect(t, serve(&BudgetOptions{Bytes: 10_000}, nil, answer(&mcp.CallToolResult{Content: []mcp.Content{
				&mcp.TextContent{Text: picture}, &mcp.TextContent{Text: "![](data:image/png;base64," + picture + ")"}, &mcp.ImageContent{Data: []byte(picture), MIMEType: "image/png"},
			}})), revision), "list", nil)
			require.LessOrEqual(t, len(marshal(t, res)), 10_000)
			require.NotContains(t, marshal(t, res), "aB3/aB3/")
		}},
		{id: "B168", what: "the note about the limit pushes the result over it", check: func(t *testing.T, revision string) {
			for limit := 2048; limit < 12_000; limit += 499 {
				res := callTool(t, mcptest.Connect(t, serve(&BudgetOptions{Bytes: limit}, nil, answer(&mcp.CallToolResult{
					Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("\"<\n>\\\x00", 9000)}},
				})), revision), "list", nil)
				require.LessOrEqual(t, len(marshal(t, res)), limit)
				require.Contains(t, mcptest.Text(res), "This result was cut")
			}
		}},
		{id: "B170", what: "120,000 orders in one line end the client's connection", check: func(t *testing.T, revision string) {
			res := callTool(t, mcptest.Connect(t, serve(nil, nil, answer(&mcp.CallToolResult{
				Content: []mcp.Content{&mcp.TextContent{Text: string(many)}}, StructuredContent: many,
			})), revision), "list", nil)
			require.True(t, res.IsError)
			require.Contains(t, mcptest.Text(res), "ask for less")
		}},
		{id: "B171", what: "an empty cursor at the end keeps clients asking", check: func(t *testing.T, revision string) {
			cs := paging(t, revision)
			res := callTool(t, cs, "list", map[string]any{"limit": 50})
			for pages := 1; ; pages++ {
				next, ok := res.StructuredContent.(map[string]any)["next_cursor"]
				require.True(t, ok)
				require.NotEqual(t, "", next)
				if next == nil {
					require.Equal(t, 20, pages)
					break
				}
				res = callTool(t, cs, "list", map[string]any{"cursor": next})
			}
		}},
		{id: "B173", elsewhere: "null breaks clients in the protocol's own nextCursor, which the SDK leaves out on the last page; " +
			"a tool's next_cursor is null there because its output schema says so, for strict clients too: see TestWalkEveryPager"},
		{id: "B175", what: "a cursor that comes again is taken for the end", check: func(t *testing.T, _ string) {
			same := "same"
			var last error
			for _, err := range Walk(context.Background(), func(context.Context, string) (Page[row], error) {
				return Page[row]{Items: rows(1), NextCursor: &same, HasMore: true}, nil
			}) {
				last = err
			}
			require.ErrorIs(t, last, ErrIncomplete)
			require.NotEqual(t, cursorOf(t, p, nil, filter{}), cursorOf(t, p, nil, filter{}), "ours never repeat")
		}},
		{id: "B176", elsewhere: "many clients read only the first page of tools/list: that the list is one page is the SDK's default and no business of results"},
		{id: "B178", what: "models invent a first cursor", check: func(t *testing.T, revision string) {
			cs := paging(t, revision)
			for _, cursor := range []string{" ", "0", "start", "null"} {
				res := callTool(t, cs, "list", map[string]any{"cursor": cursor})
				require.False(t, res.IsError, cursor)
				require.Contains(t, mcptest.Text(res), "this is the first page")
			}
			next := callTool(t, cs, "list", nil).StructuredContent.(map[string]any)["next_cursor"].(string)
			require.True(t, callTool(t, cs, "list", map[string]any{"cursor": next[:len(next)-3] + "abc"}).IsError)
		}},
		{id: "B180", elsewhere: "a gateway's cursor over several servers: see TestUpstreamOfSeveral; names that come twice are for whoever merges catalogs"},
		{id: "B181", what: "limit 0 or negative", check: refused(`{"limit":0}`, `{"limit":-5}`)},
		{id: "B183", what: "a limit that is text, an offset that is negative", check: refused(`{"limit":"abc"}`, `{"offset":-1}`)},
		{id: "B185", what: "an offset and a limit that overflow together", check: func(t *testing.T, revision string) {
			refused(`{"offset":1,"limit":9223372036854775807}`, `{"limit":1e18}`, `{"page":1e18}`)(t, revision)
			_, page, err := p.Page(context.Background(), nil, Input{Limit: 1<<63 - 1}, filter{})
			require.NoError(t, err)
			require.Len(t, page.Items, 50)
		}},
		{id: "B186", what: "models ask for page one again and again", check: func(t *testing.T, revision string) {
			cs := paging(t, revision)
			arguments := map[string]any{"status": "paid", "limit": 2}
			for first := 1; first < 9; first += 2 {
				res := callTool(t, cs, "list", arguments)
				require.EqualValues(t, first, res.StructuredContent.(map[string]any)["items"].([]any)[0].(map[string]any)["id"])
				note := res.Content[1].(*mcp.TextContent).Text
				_, call, _ := strings.Cut(note, "call list with ")
				arguments = nil
				require.NoError(t, json.Unmarshal([]byte(call), &arguments), "the next call is spelled out")
				require.Equal(t, "paid", arguments["status"])
			}
		}},
	} {
		t.Run(r.id, func(t *testing.T) {
			t.Parallel()
			if r.elsewhere != "" {
				t.Skip(r.elsewhere)
			}
			both(t, r.check)
		})
	}
}
