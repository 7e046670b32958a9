package errors_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
)

// The ways in which a handler of ours is reached.
const (
	typedTool  = "typed tool"
	typedOut   = "typed tool with output"
	rawTool    = "raw tool"
	prompt     = "prompt"
	resource   = "resource"
	completion = "completion"
	custom     = "custom method"
)

var (
	tools    = []string{typedTool, typedOut, rawTool}
	others   = []string{prompt, resource, completion, custom}
	handlers = append(append([]string{}, tools...), others...)
)

type input struct {
	N int `json:"n,omitempty"`
}

type output struct {
	N int `json:"n"`
}

type customParams struct{ mcp.ParamsBase }

type customResult struct {
	mcp.ResultBase
	Value any `json:"value,omitempty"`
}

// desk returns a server with one handler of each kind. Each calls outcome and
// returns its error; without one, it succeeds.
func desk(outcome func() error) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "v0.0.1"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			if err := outcome(); err != nil {
				return nil, err
			}
			return &mcp.CompleteResult{}, nil
		},
	})
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		return nil, nil, outcome()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "out"}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, output, error) {
		return nil, output{}, outcome()
	})
	s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := outcome(); err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "prompt"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if err := outcome(); err != nil {
			return nil, err
		}
		return &mcp.GetPromptResult{}, nil
	})
	s.AddResource(&mcp.Resource{Name: "resource", URI: "desk:r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if err := outcome(); err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{}}, nil
	})
	err := mcp.AddReceivingCustomMethod(s, "desk/custom", func(context.Context, *mcp.ServerSession, *customParams) (*customResult, error) {
		if err := outcome(); err != nil {
			return nil, err
		}
		return &customResult{}, nil
	})
	if err != nil {
		panic(err)
	}
	return s
}

// reach calls the handler of the given kind. The result is nil for others than
// tools.
func reach(t testing.TB, cs *mcp.ClientSession, handler string) (*mcp.CallToolResult, error) {
	t.Helper()
	ctx := t.Context()
	var err error
	switch handler {
	case typedTool:
		return cs.CallTool(ctx, &mcp.CallToolParams{Name: "typed"})
	case typedOut:
		return cs.CallTool(ctx, &mcp.CallToolParams{Name: "out"})
	case rawTool:
		return cs.CallTool(ctx, &mcp.CallToolParams{Name: "raw"})
	case prompt:
		_, err = cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "prompt"})
	case resource:
		_, err = cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: "desk:r"})
	case completion:
		_, err = cs.Complete(ctx, &mcp.CompleteParams{
			Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "prompt"}, Argument: mcp.CompleteParamsArgument{Name: "a"},
		})
	case custom:
		_, err = mcp.CallCustomMethod[*customParams, *customResult](ctx, cs, "desk/custom", &customParams{})
	}
	return nil, err
}

// connect connects a client to s and returns what s writes beside it.
func connect(t testing.TB, s *mcp.Server, revision string) (*mcp.ClientSession, *tap) {
	t.Helper()
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	wire := &tap{Transport: serverEnd}
	ss, err := s.Connect(context.Background(), wire, nil)
	require.NoError(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v0.0.1"}, nil)
	require.NoError(t, mcp.AddSendingCustomMethod[*customParams, *customResult](client, "desk/custom"))
	cs, err := client.Connect(context.Background(), clientEnd, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = cs.Close()
		_ = ss.Wait()
	})
	return cs, wire
}

// tap keeps what a server writes.
type tap struct {
	mcp.Transport
	mcp.Connection
	mu      sync.Mutex
	written []string
}

func (w *tap) Connect(ctx context.Context) (mcp.Connection, error) {
	var err error
	w.Connection, err = w.Transport.Connect(ctx)
	return w, err
}

func (w *tap) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.written = append(w.written, string(data))
	w.mu.Unlock()
	return w.Connection.Write(ctx, msg)
}

// replies returns every message that the server wrote.
func (w *tap) replies() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.written)
}

func (w *tap) last() string {
	replies := w.replies()
	return replies[len(replies)-1]
}

// recorder is an observer that keeps what it is told.
type recorder struct {
	mu     sync.Mutex
	events []observe.Event
}

func (r *recorder) Observe(_ context.Context, e observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// take returns the events since the last take.
func (r *recorder) take() []observe.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

var incident = regexp.MustCompile(`\b[A-Z2-7]{12}\b`)

// sans replaces the incident ids in s.
func sans(s string) string { return incident.ReplaceAllString(s, "ID") }

// rpcError returns the JSON-RPC error that a call ended in.
func rpcError(t testing.TB, err error) *jsonrpc.Error {
	t.Helper()
	e, ok := errors.AsType[*jsonrpc.Error](err)
	require.True(t, ok, "not a JSON-RPC error: %v", err)
	return e
}

func shaped(s *mcp.Server, opts *errors.Options) (*mcp.Server, *recorder) {
	seen := &recorder{}
	if opts == nil {
		opts = &errors.Options{}
	}
	opts.Observer = seen
	s.AddReceivingMiddleware(errors.Shape(opts))
	return s, seen
}

func TestDeskSucceeds(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		s, seen := shaped(desk(func() error { return nil }), nil)
		cs, wire := connect(t, s, revision)
		for _, h := range handlers {
			r, err := reach(t, cs, h)
			require.NoError(t, err, h)
			require.False(t, r != nil && r.IsError, h)
			require.NotContains(t, wire.last(), "null", h)
		}
		require.Empty(t, seen.take())
	}
}
