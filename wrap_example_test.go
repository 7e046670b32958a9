package steady_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/observe"
)

type paperInput struct {
	PaperID string `json:"paper_id" jsonschema:"the paper's ID"`
}

func getPaper(_ context.Context, _ *mcp.CallToolRequest, in paperInput) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the text of " + in.PaperID}}}, nil, nil
}

func ExampleWrap() {
	server := mcp.NewServer(&mcp.Implementation{Name: "papers", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "get_paper",
		Description: "Read one paper.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, getPaper)

	stack, err := steady.Wrap(server, &steady.Options{Observer: observe.Discard})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stack)

	// A model guesses the names of the tool and of its argument.
	fmt.Println(callTool(server, "mcp__papers__fetchPaper", map[string]any{"id": "p7"}))
	// Output:
	// errors( discovery( limits( budget( handler ) ) ) )
	// the text of p7
}

// callTool calls a tool of server.
func callTool(server *mcp.Server, name string, arguments map[string]any) string {
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), serverEnd, nil); err != nil {
		return err.Error()
	}
	return callOver(clientEnd, name, arguments)
}

func callOver(transport mcp.Transport, name string, arguments map[string]any) string {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return err.Error()
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return err.Error()
	}
	return result.Content[0].(*mcp.TextContent).Text
}
