package steady_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/limits"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/pagination"
	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/tasks"
)

// newPapers is the server of the examples, not wrapped yet.
func newPapers() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "papers", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_paper", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, getPaper)
	return server
}

func ExampleWrap_configured() {
	server := newPapers()
	stack, err := steady.Wrap(server, &steady.Options{
		// A server whose operators are its clients may show its errors.
		Errors: &errors.Options{Show: errors.ShowEverything},
		// The tool that takes longer than the others.
		Limits: &limits.Options{Tools: map[string]limits.Limit{"get_paper": {Deadline: 2 * time.Minute}}},
		// The client is a program that knows all names, so nothing is resolved.
		Without: []steady.Part{steady.Discovery},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stack)
	// Output: errors( limits( budget( handler ) ) )
}

func ExampleWrap_byHand() {
	server := mcp.NewServer(&mcp.Implementation{Name: "papers", Version: "v1.0.0"}, nil)

	tools := registry.New(server, nil)
	registry.Add(tools, &mcp.Tool{
		Name:        "get_paper",
		Description: "Read one paper.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, getPaper, registry.Aliases("fetch_document"))
	if err := tools.Err(); err != nil {
		fmt.Println(err)
		return
	}

	slow := tasks.New(&tasks.Options{Policies: map[string]tasks.Policy{"export_papers": {}}})
	defer slow.Close(context.Background())
	if err := slow.Install(server); err != nil {
		fmt.Println(err)
		return
	}
	limiter := limits.New(nil)
	defer limiter.Close(context.Background())

	server.AddReceivingMiddleware( // one call; the outermost first
		errors.Shape(&errors.Options{Observer: observe.Discard}),
		discovery.New(&discovery.Options{Aliases: tools, Observer: observe.Discard}).Middleware(),
		limiter.Middleware(),
		slow.Middleware(),
		pagination.NewBudget(nil).Middleware(),
	)

	fmt.Println(callTool(server, "fetch_document", map[string]any{"paper_id": "p7"}))
	// Output: the text of p7
}

func ExampleHandler() {
	// Made once: tasks, bounds and kept results outlive the servers.
	slow := tasks.New(&tasks.Options{Policies: map[string]tasks.Policy{"export_papers": {}}})
	defer slow.Close(context.Background())
	limiter := limits.New(&limits.Options{Rate: limits.Rate{PerSecond: 10, Burst: 50}})
	defer limiter.Close(context.Background())
	opts := &steady.Options{
		TaskManager:  slow,
		Limiter:      limiter,
		ResultBudget: pagination.NewBudget(&pagination.BudgetOptions{Spill: &pagination.SpillOptions{}}),
		Observer:     observe.Discard,
	}

	endpoint, err := steady.Handler(func(*http.Request) *mcp.Server {
		server := newPapers() // for this request
		if _, err := steady.Wrap(server, opts); err != nil {
			return nil // the request is refused
		}
		return server
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	web := httptest.NewServer(endpoint)
	defer web.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, nil)
	session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: web.URL}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "getPaper", Arguments: map[string]any{"paper_id": "p7"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output: the text of p7
}
