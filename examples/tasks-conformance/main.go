// Tasks-conformance is the server that the official conformance suite's ten
// scenarios of the extension io.modelcontextprotocol/tasks are run against. It
// is also a short tour of the ways in which a tool can become a task.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/tasks"
)

func main() {
	addr := flag.String("http", "127.0.0.1:0", "address to listen at")
	flag.Parse()

	handler, closeTasks, err := newHandler()
	if err != nil {
		log.Fatal(err)
	}
	defer closeTasks()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening at http://%s/mcp", listener.Addr())
	log.Print(http.Serve(listener, handler))
}

func newHandler() (http.Handler, func(), error) {
	poll := 100 * time.Millisecond
	m := tasks.New(&tasks.Options{
		Anonymous:     true, // the suite has no tokens
		ExtensionOnly: true, // it expects -32021 where we would hand out handles as results
		Policies: map[string]tasks.Policy{
			"slow_compute":        {Grace: tasks.Eager, Window: tasks.NoWindow, PollInterval: poll},
			"failing_job":         {Support: tasks.Required, Grace: tasks.Eager, Window: tasks.NoWindow, PollInterval: poll},
			"protocol_error_job":  {Grace: tasks.Eager, Window: tasks.NoWindow, PollInterval: poll},
			"confirm_delete":      {Grace: tasks.Eager, Window: tasks.NoWindow, PollInterval: poll},
			"multi_input":         {Grace: tasks.Eager, Window: tasks.NoWindow, PollInterval: poll},
			"test_tool_with_task": {Support: tasks.Required, Grace: tasks.OnPromote, Window: tasks.NoWindow, PollInterval: poll},
		},
	})
	server := mcp.NewServer(&mcp.Implementation{Name: "tasks-conformance", Version: "v0.0.1"}, nil)
	if err := m.Install(server); err != nil {
		return nil, nil, err
	}
	addTools(server)

	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	mux := http.NewServeMux()
	mux.Handle("/mcp", m.Handler(streamable))
	return mux, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = m.Close(ctx)
	}, nil
}

func addTools(server *mcp.Server) {
	type greetInput struct {
		Name string `json:"name,omitempty"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets, at once."},
		func(_ context.Context, _ *mcp.CallToolRequest, in greetInput) (*mcp.CallToolResult, any, error) {
			return text("Hello, %s!", in.Name), nil, nil
		})

	type slowInput struct {
		Seconds float64 `json:"seconds"`
		Label   string  `json:"label,omitempty"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "slow_compute", Description: "Takes as long as it is told."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in slowInput) (*mcp.CallToolResult, any, error) {
			if err := wait(ctx, time.Duration(in.Seconds*float64(time.Second))); err != nil {
				return nil, nil, err
			}
			return text("computed %q in %v s", in.Label, in.Seconds), nil, nil
		})

	mcp.AddTool(server, &mcp.Tool{Name: "failing_job", Description: "Ends with a tool error."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			if err := wait(ctx, time.Second); err != nil {
				return nil, nil, err
			}
			return nil, nil, fmt.Errorf("the job failed, as it always does")
		})

	mcp.AddTool(server, &mcp.Tool{Name: "protocol_error_job", Description: "Ends with a protocol error."},
		func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the job broke the protocol, as it always does"}
		})

	// A handler that knows of tasks asks through them ...
	mcp.AddTool(server, &mcp.Tool{Name: "confirm_delete", Description: "Asks before it deletes."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			res, err := tasks.Elicit(ctx, &mcp.ElicitParams{Message: "Really delete?", RequestedSchema: confirmSchema})
			if err != nil {
				return nil, nil, err
			}
			return text("deletion: %s", res.Action), nil, nil
		})

	mcp.AddTool(server, &mcp.Tool{Name: "multi_input", Description: "Asks two things at once."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			var answers [2]string
			var errs [2]error
			var wg sync.WaitGroup
			for i := range answers {
				wg.Go(func() {
					res, err := tasks.Elicit(ctx, &mcp.ElicitParams{Message: fmt.Sprintf("Question %d?", i+1), RequestedSchema: confirmSchema})
					if errs[i] = err; err == nil {
						answers[i] = res.Action
					}
				})
			}
			wg.Wait()
			if err := errors.Join(errs[:]...); err != nil {
				return nil, nil, err
			}
			return text("answers: %v", answers), nil, nil
		})

	// ... and one that returns its questions as a result asks within the
	// request, before there is a task.
	mcp.AddTool(server, &mcp.Tool{Name: "test_tool_with_task", Description: "Asks for a name, then becomes a task."},
		func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			answer, ok := req.Params.InputResponses["user_name"].(*mcp.ElicitResult)
			if !ok {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{
					"user_name": &mcp.ElicitParams{Message: "What is your name?", RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)},
				}}, nil, nil
			}
			if err := tasks.Promote(ctx); err != nil {
				return nil, nil, err
			}
			return text("Hello, %v!", answer.Content["name"]), nil, nil
		})
}

var confirmSchema = json.RawMessage(`{"type":"object","properties":{"confirm":{"type":"boolean"}}}`)

func text(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
