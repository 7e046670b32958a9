package tasks_test

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/tasks"
)

func ExampleNew() {
	type ExportInput struct {
		Date  string `json:"date"`
		Scope string `json:"scope"`
	}
	slow := tasks.New(&tasks.Options{Policies: map[string]tasks.Policy{
		"export_orders": {
			Grace:    50 * time.Millisecond, // for this example; the default is 5 s
			Identity: tasks.By(func(in ExportInput) string { return in.Date + "/" + in.Scope }),
		},
	}})
	defer slow.Close(context.Background())

	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	if err := slow.Install(server); err != nil {
		panic(err)
	}
	mcp.AddTool(server, &mcp.Tool{Name: "export_orders"},
		func(ctx context.Context, _ *mcp.CallToolRequest, in ExportInput) (*mcp.CallToolResult, any, error) {
			fmt.Println("exporting", in.Date, in.Scope) // printed once, however often the tool is called
			time.Sleep(200 * time.Millisecond)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "exported 5000 orders"}}}, nil, nil
		})

	session := connect(server)
	defer session.Close()
	arguments := map[string]any{"date": "2027-01-31", "scope": "all"}
	first, _ := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "export_orders", Arguments: arguments})
	again, _ := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "export_orders", Arguments: arguments})
	id := first.StructuredContent.(map[string]any)["task"].(map[string]any)["taskId"]
	fmt.Println("the same task:", id == again.StructuredContent.(map[string]any)["task"].(map[string]any)["taskId"])

	result, _ := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "task_result", Arguments: map[string]any{"task_id": id}})
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output:
	// exporting 2027-01-31 all
	// the same task: true
	// exported 5000 orders
}

// connect connects a client to server, in this process.
func connect(server *mcp.Server) *mcp.ClientSession {
	ctx := context.Background()
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverEnd, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, nil).Connect(ctx, clientEnd, nil)
	if err != nil {
		panic(err)
	}
	return session
}
