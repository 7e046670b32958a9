package steady_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/limits"
	"github.com/steadymcp/steady/pagination"
)

const smallBudget = 4096 // bytes of a result

// pairServer has a tool for everything that can happen to a call, and the stack.
func pairServer(t *testing.T, opts *steady.Options) *mcp.Server {
	t.Helper()
	server := mcptest.Server()
	add := func(name string, h func(context.Context, string) (string, error)) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			func(ctx context.Context, _ *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, any, error) {
				text, err := h(ctx, in.Query)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, err
			})
	}
	huge := strings.Repeat("lorem ipsum ", 5000)
	add("list_notes", func(_ context.Context, query string) (string, error) { return "notes about " + query, nil })
	add("dump_notes", func(context.Context, string) (string, error) { return huge, nil })
	add("read_secret", func(context.Context, string) (string, error) {
		return "", &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 5432}, Err: syscall.ECONNREFUSED}
	})
	add("crash", func(context.Context, string) (string, error) { panic("secret") })
	add("export_notes", func(context.Context, string) (string, error) { return huge, nil })
	add("export_huge", func(context.Context, string) (string, error) {
		return "", errors.Refused("there is no room").Because("%s", huge).DoNotRetry()
	})
	add("hang", func(ctx context.Context, _ string) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	o := *opts
	o.Budget = &pagination.BudgetOptions{Bytes: smallBudget}
	stack, err := steady.Wrap(server, &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, stack.Close(ctx))
	})
	return server
}

var everyPart = []steady.Part{steady.Errors, steady.Discovery, steady.Limits, steady.Tasks, steady.Budget}

// TestPairs installs two parts and shows that the first sees what the second
// makes of a call, or the second only what the first lets through.
func TestPairs(t *testing.T) {
	args := map[string]any{"query": "x"}
	once := &limits.Options{Tools: map[string]limits.Limit{}}
	for _, tool := range []string{"list_notes", "export_notes"} {
		once.Tools[tool] = limits.Limit{Rate: limits.Rate{PerSecond: 0.001, Burst: 1}}
	}
	for _, pair := range []struct {
		outer, inner steady.Part
		stack        string
		limits       *limits.Options
		check        func(t *testing.T, cs *mcp.ClientSession, seen *recorder)
	}{
		{outer: steady.Errors, inner: steady.Discovery, check: func(t *testing.T, cs *mcp.ClientSession, seen *recorder) {
			res := call(t, cs, "readSecret", args)
			require.True(t, res.IsError)
			require.NotContains(t, mcptest.Text(res), "10.0.0.7")
			require.Contains(t, res.Meta, "steady/discovery")
			require.Equal(t, []string{"discovery.routed", "errors.hidden"}, seen.take())
			res = call(t, cs, "nothing_like_it", args)
			require.True(t, res.IsError)
			require.Equal(t, []string{"discovery.missed", "errors.failed"}, seen.take(), "a miss is a failure like any other")
		}},
		{outer: steady.Errors, inner: steady.Limits, limits: &limits.Options{Tools: map[string]limits.Limit{"hang": {Deadline: 20 * time.Millisecond}}}, check: func(t *testing.T, cs *mcp.ClientSession, seen *recorder) {
			res := call(t, cs, "crash", args)
			require.True(t, res.IsError)
			require.NotContains(t, mcptest.Text(res), "secret")
			require.Equal(t, []string{"errors.panicked"}, seen.take(), "the limiter runs the handler in another goroutine")
			res = call(t, cs, "hang", args)
			require.True(t, res.IsError)
			require.Contains(t, mcptest.Text(res), "did not finish within")
			require.Equal(t, []string{"limits.overran", "errors.failed"}, seen.take())
		}},
		{outer: steady.Errors, inner: steady.Tasks, check: func(t *testing.T, cs *mcp.ClientSession, seen *recorder) {
			handle := handleOf(t, call(t, cs, "export_huge", args))
			res := call(t, cs, "task_result", map[string]any{"task_id": handle})
			require.True(t, res.IsError)
			require.Contains(t, mcptest.Text(res), "there is no room")
			require.Equal(t, 1, countOf(seen.takeAfter(t, "tasks.ended"), "errors.failed"), "in the background, and once")
		}},
		{outer: steady.Errors, inner: steady.Budget, check: func(t *testing.T, cs *mcp.ClientSession, seen *recorder) {
			res := call(t, cs, "export_huge", args)
			require.True(t, res.IsError)
			require.Contains(t, mcptest.Text(res), "there is no room")
			require.LessOrEqual(t, len(encode(t, res)), smallBudget)
			require.ElementsMatch(t, []string{"pagination.cut", "errors.failed"}, seen.take())
		}},
		{outer: steady.Discovery, inner: steady.Limits, limits: once, check: func(t *testing.T, cs *mcp.ClientSession, seen *recorder) {
			require.False(t, call(t, cs, "listNotes", args).IsError)
			require.True(t, call(t, cs, "list-notes", args).IsError, "both count for list_notes")
			require.Equal(t, []string{"discovery.routed", "discovery.routed", "limits.refused"}, seen.take())
		}},
		{outer: steady.Discovery, inner: steady.Tasks, check: func(t *testing.T, cs *mcp.ClientSession, seen *recorder) {
			handle := handleOf(t, call(t, cs, "exportNotes", map[string]any{"question": "x"}))
			require.Equal(t, []string{"discovery.routed", "discovery.repaired", "tasks.created"}, first3(seen))
			again := handleOf(t, call(t, cs, "EXPORT_NOTES", args))
			require.Equal(t, handle, again, "the same work, however it was asked for")
		}},
		{outer: steady.Discovery, inner: steady.Budget, check: func(t *testing.T, cs *mcp.ClientSession, seen *recorder) {
			res := call(t, cs, "dumpNotes", args)
			require.False(t, res.IsError)
			require.Contains(t, res.Meta, "steady/discovery")
			require.Contains(t, res.Meta, "steady/budget")
			require.Equal(t, []string{"discovery.routed", "pagination.cut"}, seen.take())
		}},
		{outer: steady.Limits, inner: steady.Tasks, limits: once, check: func(t *testing.T, cs *mcp.ClientSession, seen *recorder) {
			handleOf(t, call(t, cs, "export_notes", args))
			require.True(t, call(t, cs, "export_notes", map[string]any{"query": "y"}).IsError)
			names := seen.take()
			require.Equal(t, 1, countOf(names, "tasks.created"), "what is turned away is no task")
			require.Equal(t, 1, countOf(names, "limits.refused"))
		}},
		{outer: steady.Limits, inner: steady.Budget, limits: &limits.Options{Running: 1, Queue: limits.None}, check: func(t *testing.T, cs *mcp.ClientSession, seen *recorder) {
			for range 3 {
				res := call(t, cs, "dump_notes", args)
				require.False(t, res.IsError)
				require.LessOrEqual(t, len(encode(t, res)), smallBudget)
			}
			require.Equal(t, []string{"pagination.cut", "pagination.cut", "pagination.cut"}, seen.take(), "each has left its place")
		}},
		{outer: steady.Tasks, inner: steady.Budget, check: func(t *testing.T, cs *mcp.ClientSession, seen *recorder) {
			handle := handleOf(t, call(t, cs, "export_notes", args))
			for range 2 {
				res := call(t, cs, "task_result", map[string]any{"task_id": handle})
				require.False(t, res.IsError)
				require.LessOrEqual(t, len(encode(t, res)), smallBudget)
			}
			require.Equal(t, []string{"tasks.created", "pagination.cut", "tasks.ended"}, seen.takeAfter(t, "tasks.ended"), "cut once, before it is stored")
		}},
	} {
		t.Run(string(pair.outer)+" "+string(pair.inner), func(t *testing.T) {
			everywhere(t, func(t *testing.T, connect func(*mcp.Server) *mcp.ClientSession) {
				seen := &recorder{}
				cs := connect(pairServer(t, &steady.Options{
					Observer: seen, Tasks: slowTools(), Limits: pair.limits,
					Without: slices.DeleteFunc(slices.Clone(everyPart), func(p steady.Part) bool { return p == pair.outer || p == pair.inner }),
				}))
				seen.take()
				pair.check(t, cs, seen)
			})
		})
	}
}

// first3 takes what was seen, as far as it does not depend on a task's progress.
func first3(seen *recorder) []string {
	names := seen.take()
	return names[:min(3, len(names))]
}
