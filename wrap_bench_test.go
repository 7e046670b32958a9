package steady_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
)

type benchInput struct {
	Query string   `json:"query"`
	Limit int      `json:"limit,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

// benchServer has tools tools, of which one is called.
func benchServer(b *testing.B, tools int, opts *steady.Options) func() {
	b.Helper()
	server := mcptest.Server()
	for i := range tools - 1 {
		mcp.AddTool(server, &mcp.Tool{Name: fmt.Sprintf("%c_tool_%d", 'a'+i%26, i), Description: "Does something else."},
			func(context.Context, *mcp.CallToolRequest, benchInput) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
	}
	mcp.AddTool(server, &mcp.Tool{Name: "search_papers", Description: "Search papers."},
		func(_ context.Context, _ *mcp.CallToolRequest, in benchInput) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Query}}}, nil, nil
		})
	if opts != nil {
		if _, err := steady.Wrap(server, opts); err != nil {
			b.Fatal(err)
		}
	}
	cs := mcptest.Connect(b, server, "")
	params := &mcp.CallToolParams{Name: "search_papers", Arguments: map[string]any{"query": "retrieval", "limit": 10, "tags": []string{"rag", "index"}}}
	return func() {
		if res, err := cs.CallTool(context.Background(), params); err != nil || res.IsError {
			b.Fatal(res, err)
		}
	}
}

// BenchmarkWrap compares a round trip in memory of a call that succeeds, through
// the whole stack and through each part alone, with the bare SDK's, and reports
// the ratio of the medians.
func BenchmarkWrap(b *testing.B) {
	parts := []steady.Part{steady.Errors, steady.Discovery, steady.Limits, steady.Tasks, steady.Budget}
	stacks := map[string]*steady.Options{"stack": {}}
	for _, part := range parts {
		stacks[string(part)] = &steady.Options{Without: slices.DeleteFunc(slices.Clone(parts), func(p steady.Part) bool { return p == part })}
	}
	for _, tools := range []int{1, 30, 1000} {
		for _, name := range []string{"stack", "errors", "discovery", "limits", "tasks", "budget"} {
			b.Run(fmt.Sprintf("%s/%d tools", name, tools), func(b *testing.B) {
				opts := *stacks[name]
				opts.Observer = observe.Discard
				opts.Tasks = &tasks.Options{Policies: map[string]tasks.Policy{"another_tool": {}}}
				bare, wrapped := benchServer(b, tools, nil), benchServer(b, tools, &opts)
				for range 300 { // until stacks and pools have their size
					bare()
					wrapped()
				}
				mcptest.Compare(b, mcptest.Side{Name: "bare", Do: bare}, mcptest.Side{Name: name, Do: wrapped})
			})
		}
	}
}
