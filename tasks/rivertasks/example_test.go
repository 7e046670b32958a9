package rivertasks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
)

// A server whose slow calls outlive it. The second life of the server, here within
// one process, answers for what the first has done.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)

	serve := func(client func(*mcp.ClientSession)) {
		store, err := rivertasks.Open(ctx, "sqlite:"+filepath.Join(folder, "tasks.db"), &rivertasks.Options{Observer: observe.Discard})
		if err != nil {
			panic(err)
		}
		defer store.Close(ctx)
		slow := tasks.New(&tasks.Options{
			Store:    store,
			Policies: map[string]tasks.Policy{"export_orders": {Grace: tasks.Eager, RunAgain: true}},
			Owner:    func(mcp.Request) string { return "ada" }, // with OAuth, the token's subject
			Observer: observe.Discard,
		})
		defer slow.Close(ctx) // before the store

		server := mcp.NewServer(&mcp.Implementation{Name: "orders"}, nil)
		if err := slow.Install(server); err != nil {
			panic(err)
		}
		mcp.AddTool(server, &mcp.Tool{Name: "export_orders"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "exported 42 orders"}}}, nil, nil
		})
		serverEnd, clientEnd := mcp.NewInMemoryTransports()
		if _, err := server.Connect(ctx, serverEnd, nil); err != nil {
			panic(err)
		}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(ctx, clientEnd, nil)
		if err != nil {
			panic(err)
		}
		defer session.Close()
		client(session)
	}

	var handle any
	serve(func(session *mcp.ClientSession) {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "export_orders"})
		if err != nil {
			panic(err)
		}
		handle = res.StructuredContent.(map[string]any)["task"].(map[string]any)["taskId"]
	})
	serve(func(session *mcp.ClientSession) {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "task_result", Arguments: map[string]any{"task_id": handle}})
		if err != nil {
			panic(err)
		}
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	})
	// Output: exported 42 orders
}
