package steady_test

import (
	"context"
	"encoding/json"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/limits"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/pagination"
	"github.com/steadymcp/steady/tasks"
)

// noteText is what the tool of these tests does, whatever wraps it.
func noteText(query string) (string, error) {
	switch query {
	case "refused":
		return "", errors.Refused("the note is locked").Next("ask its owner").DoNotRetry()
	case "foreign":
		return "", &net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}
	case "panic":
		panic("secret")
	case "huge":
		return strings.Repeat("lorem ipsum ", 5000), nil
	}
	return "a note about " + query, nil
}

func rawNote(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in searchInput
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, err
	}
	text, err := noteText(in.Query)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
}

func typedNote(_ context.Context, _ *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, any, error) {
	text, err := noteText(in.Query)
	if err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

type typedHandler = mcp.ToolHandlerFor[searchInput, any]

// A form is a package as middleware and as wrappers of one handler, which share
// what they are made from.
type form struct {
	middleware mcp.Middleware
	raw        func(*mcp.Tool, mcp.ToolHandler) mcp.ToolHandler
	typed      func(*mcp.Server, *mcp.Tool, typedHandler)
	install    func(*mcp.Server) error
}

// plainly adds a typed handler as the SDK does.
func plainly(wrap func(typedHandler) typedHandler) func(*mcp.Server, *mcp.Tool, typedHandler) {
	return func(server *mcp.Server, tool *mcp.Tool, h typedHandler) { mcp.AddTool(server, tool, wrap(h)) }
}

// forms makes each package anew.
var forms = map[string]struct {
	make func(t *testing.T, seen observe.Observer) form
	// calls are the arguments that are sent, in order.
	calls []map[string]any
	// events is how often the first of them is seen, at least by the middleware.
	event string
	count int
}{
	"errors": {
		make: func(_ *testing.T, seen observe.Observer) form {
			return form{
				middleware: errors.Shape(&errors.Options{Observer: seen}),
				raw:        func(_ *mcp.Tool, h mcp.ToolHandler) mcp.ToolHandler { return errors.Handler(h) },
				typed:      plainly(func(h typedHandler) typedHandler { return errors.HandlerFor(h) }),
			}
		},
		calls: []map[string]any{{"query": "x"}, {"query": "refused"}, {"query": "foreign"}, {"query": "panic"}},
		event: "errors.", count: 3,
	},
	"discovery": {
		make: func(t *testing.T, seen observe.Observer) form {
			opts := &discovery.Options{Observer: seen}
			return form{
				middleware: discovery.New(opts).Middleware(),
				raw: func(tool *mcp.Tool, h mcp.ToolHandler) mcp.ToolHandler {
					wrapped, err := discovery.Handler(tool, h, opts)
					require.NoError(t, err)
					return wrapped
				},
				typed: func(server *mcp.Server, tool *mcp.Tool, h typedHandler) {
					filled, wrapped, err := discovery.HandlerFor(tool, h, opts)
					require.NoError(t, err)
					server.AddTool(filled, wrapped)
				},
			}
		},
		calls: []map[string]any{{"query": "x"}, {"question": "x"}, {"query": "x", "limit": "5"}, {}},
		event: "discovery.re", count: 3, // two repaired, one refused
	},
	"limits": {
		make: func(_ *testing.T, seen observe.Observer) form {
			l := limits.New(&limits.Options{Observer: seen, Tools: map[string]limits.Limit{"read_note": {Rate: limits.Rate{PerSecond: 0.001, Burst: 2}}}})
			return form{
				middleware: l.Middleware(),
				raw:        func(_ *mcp.Tool, h mcp.ToolHandler) mcp.ToolHandler { return limits.Handler(l, h) },
				typed:      plainly(func(h typedHandler) typedHandler { return limits.HandlerFor(l, h) }),
			}
		},
		calls: []map[string]any{{"query": "x"}, {"query": "x"}, {"query": "x"}},
		event: "limits.refused", count: 1,
	},
	"pagination": {
		make: func(_ *testing.T, seen observe.Observer) form {
			opts := &pagination.BudgetOptions{Bytes: smallBudget, Observer: seen}
			return form{
				middleware: pagination.NewBudget(opts).Middleware(),
				raw:        func(_ *mcp.Tool, h mcp.ToolHandler) mcp.ToolHandler { return pagination.Handler(opts, h) },
				typed:      plainly(func(h typedHandler) typedHandler { return pagination.HandlerFor(opts, h) }),
			}
		},
		calls: []map[string]any{{"query": "x"}, {"query": "huge"}},
		event: "pagination.cut", count: 1,
	},
	"tasks": {
		make: func(t *testing.T, seen observe.Observer) form {
			policy := tasks.Policy{Grace: tasks.Eager, Window: time.Minute}
			m := tasks.New(&tasks.Options{Anonymous: true, Observer: seen})
			t.Cleanup(func() { require.NoError(t, m.Close(context.Background())) })
			return form{
				middleware: m.Middleware(),
				raw:        func(_ *mcp.Tool, h mcp.ToolHandler) mcp.ToolHandler { return tasks.Handler(m, policy, h) },
				typed:      plainly(func(h typedHandler) typedHandler { return tasks.HandlerFor(m, policy, h) }),
				install:    m.Install,
			}
		},
		calls: []map[string]any{{"query": "x"}, {"query": "y"}},
		event: "tasks.created", count: 2,
	},
}

// chance is what differs between two runs of the same: ids, times, and the advice
// for a result that was cut, for which only middleware knows the tool's arguments.
var chance = regexp.MustCompile(`"(ageMs|ttlMs)":\d+|ask for less[^"]*|"incident":"[A-Z0-9]+"|incident [A-Z0-9]+|[a-z0-9]+-[a-z2-7]{20,}|20\d\d-\d\d-\d\dT[0-9:.]+Z|[0-9.]+ ?(ms|s|µs|seconds?|minutes?) ago|"(createdAt|lastUpdatedAt|resultType)":"[^"]*",?`)

// TestForms calls a tool behind the middleware, behind the wrapper and behind
// both: the answers are the same, and the work is done once.
func TestForms(t *testing.T) {
	for name, f := range forms {
		for _, revision := range mcptest.Revisions {
			for _, typed := range []bool{false, true} {
				kind := map[bool]string{false: "raw", true: "typed"}[typed]
				t.Run(name+" "+kind+" "+revision, func(t *testing.T) {
					answers := func(middleware, wrapper bool) []string {
						seen := &recorder{}
						made := f.make(t, seen)
						cs := mcptest.Connect(t, formServer(t, made, middleware, wrapper, typed), revision)
						seen.take()
						var out []string
						for _, args := range f.calls {
							res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_note", Arguments: args})
							require.NoError(t, err)
							out = append(out, chance.ReplaceAllString(encode(t, res), "…"))
						}
						if middleware || name != "errors" { // whose wrapper logs to slog.Default
							require.Equal(t, f.count, countOfPrefix(seen.take(), f.event), "the work is done once")
						}
						return out
					}
					both := answers(true, true)
					require.Equal(t, both, answers(false, true), "the wrapper alone")
					if name == "tasks" {
						return // its middleware takes the policy from the wrapper
					}
					require.Equal(t, both, answers(true, false), "the middleware alone")
				})
			}
		}
	}
}

func formServer(t *testing.T, made form, middleware, wrapper, typed bool) *mcp.Server {
	server := mcptest.Server()
	if made.install != nil {
		require.NoError(t, made.install(server))
	}
	tool := &mcp.Tool{Name: "read_note", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	switch {
	case typed && wrapper:
		made.typed(server, tool, typedNote)
	case typed:
		mcp.AddTool(server, tool, typedNote)
	default:
		tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"],"additionalProperties":false}`)
		h := mcp.ToolHandler(rawNote)
		if wrapper {
			h = made.raw(tool, h)
		}
		server.AddTool(tool, h)
	}
	if middleware {
		server.AddReceivingMiddleware(made.middleware)
	}
	return server
}

func countOfPrefix(names []string, prefix string) (n int) {
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}
