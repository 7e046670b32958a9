package discovery_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/observe"
)

// papers is a server with a tool that reads and one that destroys.
func papers() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "papers", Version: "v1.0.0"}, nil)
	type input struct {
		Query string `json:"query"`
		Limit int    `json:"limit,omitempty"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "search_papers", Description: "Finds papers by topic", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("searched for %q, at most %d", in.Query, in.Limit)}}}, nil, nil
		})
	type id struct {
		ID string `json:"paper_id"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "delete_paper", Description: "Removes a paper"},
		func(context.Context, *mcp.CallToolRequest, id) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "gone"}}}, nil, nil
		})
	return server
}

// call calls a tool as a client would, and returns the texts of the answer.
func call(server *mcp.Server, name, arguments string) string {
	ctx := context.Background()
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverEnd, nil); err != nil {
		return err.Error()
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "model", Version: "v1.0.0"}, nil).Connect(ctx, clientEnd, nil)
	if err != nil {
		return err.Error()
	}
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return err.Error()
	}
	text := ""
	for _, c := range res.Content {
		text += c.(*mcp.TextContent).Text + "\n"
	}
	return text
}

func ExampleNew() {
	server := papers()
	resolver := discovery.New(&discovery.Options{Servers: []string{"papers"}, Observer: observe.Discard})
	server.AddReceivingMiddleware(resolver.Middleware())

	fmt.Println(call(server, "mcp__papers__searchPapers", `{"query":"rag","limit":"5"}`))
	fmt.Println(call(server, "find_paper", `{"question":"rag"}`))
	fmt.Println(call(server, "remove_paper", `{"paper_id":"7"}`))
	fmt.Println(resolver.Stats())
	// Output:
	// searched for "rag", at most 5
	//
	// searched for "rag", at most 0
	// There is no tool named "find_paper"; search_papers was called instead. Arguments were adjusted: "question" was taken as /query.
	//
	// There is no tool named "remove_paper". Reason: delete_paper may change or destroy something, so it runs under its exact name only. Next: call the one that does what you want by its exact name: delete_paper (Removes a paper; requires paper_id); search_papers (Finds papers by topic; requires query).
	//
	// of 3 calls 3 named no tool exactly: 2 were routed, 1 were not found (100.0 % without discovery, 33.3 % with it); arguments were repaired in 2 and refused in 0
}

func ExampleResolve() {
	tools := []*mcp.Tool{
		{Name: "search_papers", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		{Name: "lock_door"},
		{Name: "delete_note"},
	}
	for _, name := range []string{"search_papers", "functions.SearchPapers", "serach_paper", "find_papers", "unlock_door", "delete_nte"} {
		r := discovery.Resolve(name, tools, nil)
		if r.Tool != "" {
			fmt.Printf("%s: runs %s (%s)\n", name, r.Tool, r.Step)
			continue
		}
		fmt.Printf("%s: proposes %s, because %s\n", name, r.Candidates[0].Name, r.Reason)
	}
	// Output:
	// search_papers: runs search_papers (exact)
	// functions.SearchPapers: runs search_papers (affix)
	// serach_paper: runs search_papers (typo)
	// find_papers: runs search_papers (verb)
	// unlock_door: proposes lock_door, because no tool does what the name says
	// delete_nte: proposes delete_note, because delete_note may change or destroy something, so it runs under its exact name only
}

func ExampleRepair() {
	tool := &mcp.Tool{Name: "search_orders", InputSchema: json.RawMessage(`{
		"type": "object", "additionalProperties": false, "required": ["query"],
		"properties": {"query": {"type": "string"}, "status": {"enum": ["paid", "shipped"]}, "limit": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}}`)}
	for _, sent := range []string{
		`{"query":"late"}`,
		`{"params":{"question":"late","Status":"PAID","limit":"50","tags":"vip"}}`,
		`{"query":"late","status":"sent"}`,
	} {
		arguments, changes, err := discovery.Repair(tool, json.RawMessage(sent), nil)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(string(arguments), len(changes))
	}
	// Output:
	// {"query":"late"} 0
	// {"query":"late","status":"paid","limit":50,"tags":["vip"]} 6
	// The arguments of "search_orders" do not fit its input schema: /status: sent the string "sent", wanted one of "paid", "shipped". Next: correct the arguments and call search_orders again, for example with {"query":"late"}.
}

func ExampleHandlerFor() {
	type input struct {
		OrderID int64 `json:"order_id"`
	}
	get := func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("order ", in.OrderID)}}}, nil, nil
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	tool, handler, err := discovery.HandlerFor(&mcp.Tool{Name: "get_order"}, get, &discovery.Options{Observer: observe.Discard})
	if err != nil {
		fmt.Println(err)
		return
	}
	server.AddTool(tool, handler)

	fmt.Println(call(server, "get_order", `{"orderId":"9007199254740993"}`))
	// Output:
	// order 9007199254740993
}
