package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
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

func ExampleManager_Middleware() {
	slow := tasks.New(&tasks.Options{Policies: map[string]tasks.Policy{"export_orders": {}}})
	defer slow.Close(context.Background())

	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	if err := slow.Install(server); err != nil { // first: the tools and methods that answer for tasks
		panic(err)
	}
	server.AddReceivingMiddleware( // outermost first
		errors.Shape(nil),
		slow.Middleware(), // what stands below runs as part of the task
	)
}

func ExampleManager_Handler() {
	slow := tasks.New(&tasks.Options{Policies: map[string]tasks.Policy{"export_orders": {}}})
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	if err := slow.Install(server); err != nil {
		panic(err)
	}
	endpoint := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	verify := func(ctx context.Context, token string, r *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: "ada", Expiration: time.Now().Add(time.Hour)}, nil // ask your issuer
	}
	http.Handle("/mcp", auth.RequireBearerToken(verify, nil)(slow.Handler(endpoint)))
}

func ExampleHandlerFor() {
	slow := tasks.New(nil)
	defer slow.Close(context.Background())
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	if err := slow.Install(server); err != nil {
		panic(err)
	}

	type ReindexInput struct {
		Index string `json:"index"`
	}
	reindex := func(ctx context.Context, _ *mcp.CallToolRequest, in ReindexInput) (*mcp.CallToolResult, any, error) {
		tasks.SetStatus(ctx, "reading %s", in.Index)
		for done := range 500 {
			tasks.Progress(ctx, float64(done), 500)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "500 documents"}}}, nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "reindex"}, tasks.HandlerFor(slow, tasks.Policy{MaxRun: 10 * time.Minute}, reindex))

	session := connect(server)
	defer session.Close()
	result, _ := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "reindex", Arguments: map[string]any{"index": "orders"}})
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output: 500 documents
}

func ExampleElicit() {
	purge := func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		answer, err := tasks.Elicit(ctx, &mcp.ElicitParams{
			Message:         "Delete 12,000 records?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}`),
		})
		if err != nil {
			return nil, nil, err
		}
		if answer.Action != "accept" || answer.Content["sure"] != true {
			return nil, nil, errors.Refused("nothing was deleted").Because("the user did not confirm").DoNotRetry()
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deleted"}}}, nil, nil
	}
	slow := tasks.New(&tasks.Options{Policies: map[string]tasks.Policy{"purge": {}}})
	defer slow.Close(context.Background())
	server := mcp.NewServer(&mcp.Implementation{Name: "records", Version: "v1.0.0"}, nil)
	if err := slow.Install(server); err != nil {
		panic(err)
	}
	mcp.AddTool(server, &mcp.Tool{Name: "purge"}, purge)

	// A client without the extension: the question reaches the model.
	session := connect(server)
	defer session.Close()
	call := func(name string, arguments map[string]any) *mcp.CallToolResult {
		result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			panic(err)
		}
		return result
	}
	id := call("purge", nil).StructuredContent.(map[string]any)["task"].(map[string]any)["taskId"]
	call("task_status", map[string]any{"task_id": id}) // shows the question and its key, input-1
	call("task_answer", map[string]any{"task_id": id, "answers": map[string]any{
		"input-1": map[string]any{"action": "accept", "content": map[string]any{"sure": true}},
	}})
	fmt.Println(call("task_result", map[string]any{"task_id": id}).Content[0].(*mcp.TextContent).Text)
	// Output: deleted
}

func ExampleInstallClient() {
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, nil)
	follow, err := tasks.InstallClient(client, &tasks.ClientOptions{
		OnTask: func(_ context.Context, t tasks.Task) { log.Printf("%s: %s %s", t.ID, t.Status, t.StatusMessage) },
	})
	if err != nil {
		panic(err)
	}
	transport := &mcp.StreamableClientTransport{
		Endpoint:   "https://example.com/mcp",
		HTTPClient: &http.Client{Transport: follow.RoundTripper(nil)},
	}
	session, err := client.Connect(context.Background(), transport, nil)
	if err != nil {
		return // nobody is there, in this example
	}
	// The final result, however long it takes. Cancelling the context cancels the task.
	_, _ = session.CallTool(context.Background(), &mcp.CallToolParams{Name: "export_orders"})
}
