package limits_test

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/limits"
	"github.com/steadymcp/steady/observe"
)

func ExampleNew() {
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "export_orders"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		<-ctx.Done() // work that takes too long
		return nil, nil, ctx.Err()
	})

	limiter := limits.New(&limits.Options{
		Rate:     limits.Rate{PerSecond: 10, Burst: 50},
		Tools:    map[string]limits.Limit{"export_orders": {Deadline: 20 * time.Millisecond, Running: 2}},
		Observer: observe.Discard,
	})
	server.AddReceivingMiddleware(limiter.Middleware())

	fmt.Println(call(server, "export_orders"))
	// Output:
	// "export_orders" did not finish within 20ms and was cancelled. Reason: that is this server's limit for one call; part of the work may have been done. Next: check what was done before calling again, and ask for less at once. Do not retry.
}

func call(server *mcp.Server, tool string) string {
	ctx := context.Background()
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverEnd, nil); err != nil {
		return err.Error()
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, nil)
	session, err := client.Connect(ctx, clientEnd, nil)
	if err != nil {
		return err.Error()
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
	if err != nil {
		return err.Error()
	}
	return result.Content[0].(*mcp.TextContent).Text
}
