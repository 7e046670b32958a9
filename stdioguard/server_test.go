package stdioguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/stdioguard"
)

// A script is the arguments of every tool of the test server.
type script struct {
	Way   string `json:"way,omitempty"`   // for "write": see ways
	Ms    int    `json:"ms,omitempty"`    // for "sleep"
	Deaf  bool   `json:"deaf,omitempty"`  // for "sleep": ignores its context
	Bytes int    `json:"bytes,omitempty"` // for "big" and "notify"
	Raw   []byte `json:"raw,omitempty"`   // for "raw": base64
	Text  string `json:"text,omitempty"`
}

// writeStray writes to standard output in one of the ways; set where there are any.
var writeStray = func(way string) error { return errors.New("no way to write here") }

// newServer returns the server of all tests.
func newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "v0.0.1"}, nil)
	add := func(name string, h func(context.Context, *mcp.CallToolRequest, script) (*mcp.CallToolResult, error)) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":{}}`)},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var s script
				if len(req.Params.Arguments) > 0 {
					if err := json.Unmarshal(req.Params.Arguments, &s); err != nil {
						return nil, err
					}
				}
				return h(ctx, req, s)
			})
	}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	add("echo", func(_ context.Context, _ *mcp.CallToolRequest, s script) (*mcp.CallToolResult, error) {
		return text(s.Text), nil
	})
	add("write", func(_ context.Context, _ *mcp.CallToolRequest, s script) (*mcp.CallToolResult, error) {
		if err := writeStray(s.Way); err != nil {
			return nil, err
		}
		return text("written"), nil
	})
	add("sleep", func(ctx context.Context, _ *mcp.CallToolRequest, s script) (*mcp.CallToolResult, error) {
		after := time.After(time.Duration(s.Ms) * time.Millisecond)
		if s.Deaf {
			<-after
			return text("slept"), nil
		}
		select {
		case <-after:
			return text("slept"), nil
		case <-ctx.Done():
			if cause := context.Cause(ctx); errors.Is(cause, stdioguard.ErrShutdown) {
				return text("cancelled: " + cause.Error()), nil
			}
			return text("cancelled by the client"), nil
		}
	})
	add("big", func(_ context.Context, _ *mcp.CallToolRequest, s script) (*mcp.CallToolResult, error) {
		return text(strings.Repeat("x", s.Bytes)), nil
	})
	add("notify", func(ctx context.Context, req *mcp.CallToolRequest, s script) (*mcp.CallToolResult, error) {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "t", Message: strings.Repeat("x", s.Bytes)})
		return text(fmt.Sprintf("notified: %v", err)), nil
	})
	add("ask", func(ctx context.Context, req *mcp.CallToolRequest, _ script) (*mcp.CallToolResult, error) {
		_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "why?"})
		return text(fmt.Sprintf("asked: %v", err)), nil
	})
	add("raw", func(_ context.Context, _ *mcp.CallToolRequest, s script) (*mcp.CallToolResult, error) {
		r := text("raw")
		r.StructuredContent = json.RawMessage(s.Raw)
		return r, nil
	})
	add("fail", func(context.Context, *mcp.CallToolRequest, script) (*mcp.CallToolResult, error) {
		return nil, errors.New("it failed")
	})
	type echoed struct {
		Text string `json:"text"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "typed"}, func(_ context.Context, _ *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, echoed, error) {
		return nil, in, nil
	})
	server.AddResource(&mcp.Resource{URI: "test://big", Name: "big"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test://big", Text: strings.Repeat("x", 2<<20)}}}, nil
		})
	return server
}

// events collects what was observed.
type events struct {
	mu   sync.Mutex
	seen []observe.Event
}

func (e *events) Observe(_ context.Context, event observe.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, event)
}

// find returns the first event of type E.
func find[E observe.Event](e *events) (event E, found bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.seen {
		if event, ok := s.(E); ok {
			return event, true
		}
	}
	return event, false
}
