package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/tasks"
)

// A stack is what is installed on a server.
type stack struct {
	name     string
	parts    []steady.Part
	registry bool // the tools are registered with a registry
}

// stacks are the columns of the table. The first shows what the machine adds by
// itself: no ratio that is as near to 1 as its own says anything.
var stacks = []stack{
	{name: "bare again"},
	{name: "errors", parts: []steady.Part{steady.Errors}},
	{name: "registry", registry: true},
	{name: "discovery", parts: []steady.Part{steady.Discovery}},
	{name: "limits", parts: []steady.Part{steady.Limits}},
	{name: "tasks", parts: []steady.Part{steady.Tasks}},
	{name: "budget", parts: []steady.Part{steady.Budget}},
	{name: "Wrap", parts: []steady.Part{steady.Errors, steady.Discovery, steady.Limits, steady.Budget}},
	{name: "Wrap with tasks", parts: everything},
}

var everything = []steady.Part{steady.Errors, steady.Discovery, steady.Limits, steady.Tasks, steady.Budget}

type paperQuery struct {
	Query string   `json:"query"`
	Limit int      `json:"limit,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

// The tools that have a policy. A call whose arguments are those of one before
// joins it, which is less work than what is to be measured.
const eager = "export_eagerly"

var policies = map[string]tasks.Policy{
	"export": {Window: tasks.NoWindow, TTL: time.Second},
	eager:    {Window: tasks.NoWindow, TTL: time.Second, Grace: tasks.Eager, Concurrency: tasks.Unlimited},
}

// schemas, if not nil, saves most of the time that it takes to make a thousand
// tools. The test has it; what is measured does not, since the tools would share
// one schema, as those of a real server do not.
var schemas *mcp.SchemaCache

// serve makes a server of so many tools with what is to be installed.
func serve(installed stack, tools int, listEvery time.Duration) (*mcp.Server, func(), error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "v1.0.0"}, &mcp.ServerOptions{SchemaCache: schemas})
	var to *registry.Registry
	if installed.registry {
		to = registry.New(server, &registry.Options{Observer: observe.Discard})
	}
	papers := strings.Repeat("A paper about retrieval. ", 40_000)
	errs := []error{add(server, to, "search_papers", func(in paperQuery) string { return in.Query })}
	if tools > 1 {
		errs = append(errs,
			add(server, to, "count_papers", func(struct{}) string { return "12" }),
			add(server, to, "all_papers", func(struct{}) string { return papers }),
			add(server, to, "export", func(struct{}) string { return "done" }),
			add(server, to, eager, func(struct{}) string { return "done" }))
	}
	for i := 5; i < tools; i++ {
		errs = append(errs, add(server, to, fmt.Sprintf("%c_tool_%d", 'a'+i%26, i), func(paperQuery) string { return "" }))
	}
	if err := errors.Join(errs...); err != nil || len(installed.parts) == 0 {
		return server, func() {}, err
	}
	opts := &steady.Options{Observer: observe.Discard, Discovery: &discovery.Options{ListEvery: listEvery}}
	if slices.Contains(installed.parts, steady.Tasks) {
		opts.Tasks = &tasks.Options{Policies: policies}
	}
	for _, part := range everything {
		if !slices.Contains(installed.parts, part) {
			opts.Without = append(opts.Without, part)
		}
	}
	s, err := steady.Wrap(server, opts)
	if err != nil {
		return nil, nil, err
	}
	return server, func() { _ = s.Close(context.Background()) }, nil
}

// add adds a tool to the registry, or, if that is nil, to the server.
func add[In any](server *mcp.Server, to *registry.Registry, name string, answer func(In) string) error {
	tool := &mcp.Tool{Name: name, Description: "Answers.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	handler := func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer(in)}}}, nil, nil
	}
	if to != nil {
		return registry.Add(to, tool, handler)
	}
	mcp.AddTool(server, tool, handler)
	return nil
}

// connect returns a session, and what ends it and waits until it has ended.
func connect(ctx context.Context, server *mcp.Server) (*mcp.ClientSession, func(), error) {
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	there, err := server.Connect(ctx, serverEnd, nil)
	if err != nil {
		return nil, nil, err
	}
	here, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "v1.0.0"}, nil).Connect(ctx, clientEnd, nil)
	if err != nil {
		return nil, nil, err
	}
	return here, func() { _ = here.Close(); _ = there.Wait() }, nil
}
