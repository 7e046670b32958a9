package steady_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/limits"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/pagination"
	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/tasks"
)

// What one package declares and another happens to satisfy.
var _ discovery.Aliases = (*registry.Registry)(nil)

// recorder keeps the names of events, in order.
type recorder struct {
	mu    sync.Mutex
	names []string
}

func (r *recorder) Observe(_ context.Context, e observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, e.EventName())
}

func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := r.names
	r.names = nil
	return names
}

// takeAfter is take once a task has ended, which is observed after its result can
// be had.
func (r *recorder) takeAfter(t *testing.T, name string) []string {
	t.Helper()
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.Contains(r.names, name)
	}, 10*time.Second, time.Millisecond, "%s is not observed", name)
	return r.take()
}

type searchInput struct {
	Query string `json:"query"`
	Limit int    `json:"limit,omitempty"`
}

type searchOutput struct {
	Items []string `json:"items"`
}

// composed is a server with everything installed.
func composed(t testing.TB, opts *steady.Options) (*mcp.Server, *steady.Stack) {
	t.Helper()
	server := mcptest.Server()
	r := registry.New(server, &registry.Options{Observer: observe.Discard})
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	must := func(err error) { require.NoError(t, err) }
	must(registry.Add(r, &mcp.Tool{Name: "search_notes", Description: "Find notes by words.", Annotations: readOnly},
		func(_ context.Context, _ *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, searchOutput, error) {
			out := searchOutput{Items: []string{}}
			for i := range in.Limit {
				out.Items = append(out.Items, fmt.Sprintf("%s %d %s", in.Query, i, strings.Repeat("x", 90)))
			}
			return nil, out, nil
		}, registry.Aliases("ask_notes")))
	must(registry.Add(r, &mcp.Tool{Name: "read_note", Description: "Read one note.", Annotations: readOnly},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.NotFound("there is no note 7").Next("call search_notes")
		}))
	must(registry.Add(r, &mcp.Tool{Name: "crash", Annotations: readOnly},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			panic("secret")
		}))
	must(registry.Add(r, &mcp.Tool{Name: "export_notes", Description: "Write all notes to a file."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, searchOutput, error) {
			out := searchOutput{}
			for range 5000 {
				out.Items = append(out.Items, strings.Repeat("y", 90))
			}
			return nil, out, nil
		}))
	if opts == nil {
		opts = &steady.Options{}
	}
	o := *opts
	if o.Observer == nil {
		o.Observer = observe.Discard
	}
	d := discovery.Options{Aliases: r}
	if o.Discovery == nil {
		o.Discovery = &d
	}
	stack, err := steady.Wrap(server, &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, stack.Close(ctx))
	})
	return server, stack
}

func call(t testing.TB, cs *mcp.ClientSession, tool string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	require.NoError(t, err)
	return res
}

func TestStackIsPrintable(t *testing.T) {
	for _, tt := range []struct {
		opts steady.Options
		want string
	}{
		{steady.Options{}, "errors( discovery( limits( budget( handler ) ) ) )"},
		{steady.Options{Tasks: &tasks.Options{}}, "errors( discovery( limits( tasks( budget( handler ) ) ) ) )"},
		{steady.Options{Without: []steady.Part{steady.Errors, steady.Limits, steady.Budget}}, "discovery( handler )"},
		{steady.Options{Without: []steady.Part{steady.Errors, steady.Limits, steady.Budget, steady.Discovery}}, "handler"},
	} {
		_, stack := composed(t, &tt.opts)
		require.Equal(t, tt.want, stack.String())
	}
}

func TestWrapOnce(t *testing.T) {
	server, _ := composed(t, nil)
	_, err := steady.Wrap(server, nil)
	require.ErrorContains(t, err, "wrapped already")
	_, err = steady.Wrap(mcptest.Server(), &steady.Options{Without: []steady.Part{"budgets"}})
	require.ErrorContains(t, err, `no part "budgets"`)
}

// Wrapping a server for each request keeps none of them.
func TestWrappedServersAreForgotten(t *testing.T) {
	collected := make(chan struct{})
	func() {
		server := mcptest.Server()
		_, err := steady.Wrap(server, &steady.Options{Observer: observe.Discard})
		require.NoError(t, err)
		runtime.AddCleanup(server, func(struct{}) { close(collected) }, struct{}{})
	}()
	for {
		runtime.GC()
		select {
		case <-collected:
			return
		case <-t.Context().Done():
			t.Fatal("the server is still referred to")
		default:
			runtime.Gosched()
		}
	}
}

// One call: its name rewritten once, its arguments repaired once, its result
// cut once.
func TestOneCallThroughEverything(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			seen := &recorder{}
			server, _ := composed(t, &steady.Options{Observer: seen})
			cs := mcptest.Connect(t, server, revision)
			seen.take()

			res := call(t, cs, "mcp__test__searchNotes", map[string]any{"question": "zebra", "limit": "3000"})
			require.False(t, res.IsError, mcptest.Text(res))
			require.Contains(t, res.Meta, "steady/discovery")
			require.Contains(t, res.Meta, "steady/budget")
			encoded, err := json.Marshal(res)
			require.NoError(t, err)
			require.LessOrEqual(t, len(encoded), pagination.DefaultBytes)
			names := seen.take()
			require.Equal(t, []string{"discovery.routed", "discovery.repaired", "discovery.repaired", "pagination.cut"}, names)
		})
	}
}

func TestFailuresThroughEverything(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			seen := &recorder{}
			server, _ := composed(t, &steady.Options{Observer: seen, Limits: &limits.Options{
				Tools: map[string]limits.Limit{"ask_twice": {}, "read_note": {Rate: limits.Rate{PerSecond: 0.001, Burst: 1}}},
			}})
			cs := mcptest.Connect(t, server, revision)
			seen.take()

			res := call(t, cs, "readNote", nil)
			require.True(t, res.IsError)
			require.Contains(t, mcptest.Text(res), "there is no note 7")
			require.Equal(t, 1, countOf(seen.take(), "errors.failed"))

			res = call(t, cs, "read-note", nil)
			require.True(t, res.IsError)
			require.Contains(t, mcptest.Text(res), "rate of calls")
			require.Equal(t, 1, countOf(seen.take(), "limits.refused"), "the name was resolved before it was counted")

			res = call(t, cs, "CRASH", nil)
			require.True(t, res.IsError)
			require.NotContains(t, mcptest.Text(res), "secret")
			require.Equal(t, 1, countOf(seen.take(), "errors.panicked"))

			res = call(t, cs, "delete_note", nil)
			require.True(t, res.IsError)
			require.Contains(t, mcptest.Text(res), "read_note")
			require.False(t, call(t, cs, "search_notes", map[string]any{"query": "x"}).IsError)
		})
	}
}

// A task's result is bounded like any other, and its name is resolved before
// its policy is looked up.
func TestTaskThroughEverything(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			server, _ := composed(t, &steady.Options{
				Tasks: &tasks.Options{Policies: map[string]tasks.Policy{"export_notes": {Grace: tasks.Eager}}, Anonymous: true},
			})
			cs := mcptest.Connect(t, server, revision)
			res := call(t, cs, "exportNotes", map[string]any{})
			require.False(t, res.IsError, mcptest.Text(res))
			handle := handleOf(t, res)
			res = call(t, cs, "task_result", map[string]any{"task_id": handle})
			require.False(t, res.IsError, mcptest.Text(res))
			encoded, err := json.Marshal(res)
			require.NoError(t, err)
			require.LessOrEqual(t, len(encoded), pagination.DefaultBytes)
			require.Contains(t, mcptest.Text(res), "yyyy")
		})
	}
}

func handleOf(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	meta, _ := res.Meta["steady/task"].(map[string]any)
	id, _ := meta["taskId"].(string)
	require.NotEmpty(t, id, "%v %s", res.Meta, mcptest.Text(res))
	return id
}

// A user's own middleware may stand inside or outside.
func TestOwnMiddleware(t *testing.T) {
	server := mcptest.Server()
	mcp.AddTool(server, &mcp.Tool{Name: "search_notes", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, searchInput) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	var names []string
	own := func(where string) mcp.Middleware {
		return func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if r, ok := req.(*mcp.CallToolRequest); ok {
					names = append(names, where+" "+r.Params.Name)
				}
				return next(ctx, method, req)
			}
		}
	}
	server.AddReceivingMiddleware(own("inside"))
	_, err := steady.Wrap(server, &steady.Options{Observer: observe.Discard})
	require.NoError(t, err)
	server.AddReceivingMiddleware(own("outside"))
	cs := mcptest.Connect(t, server, "")
	require.False(t, call(t, cs, "find_notes", map[string]any{"query": "x"}).IsError)
	require.Equal(t, []string{"outside find_notes", "inside search_notes"}, names)
}

// Hidden tools answer exactly like tools that do not exist, suggestions
// included.
func TestHiddenIsUnknown(t *testing.T) {
	build := func(withSecret bool) *mcp.Server {
		server := mcptest.Server()
		r := registry.New(server, &registry.Options{Observer: observe.Discard})
		nothing := func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		}
		require.NoError(t, registry.Add(r, &mcp.Tool{Name: "list_users"}, nothing))
		if withSecret {
			require.NoError(t, registry.Add(r, &mcp.Tool{Name: "list_salaries"}, nothing,
				registry.VisibleTo(func(context.Context, mcp.Request, *mcp.Tool) bool { return false })))
		}
		_, err := steady.Wrap(server, &steady.Options{Observer: observe.Discard, Discovery: &discovery.Options{Aliases: r}})
		require.NoError(t, err)
		return server
	}
	for _, revision := range mcptest.Revisions {
		with, without := mcptest.Connect(t, build(true), revision), mcptest.Connect(t, build(false), revision)
		for _, name := range []string{"list_salaries", "listSalaries", "list_salary", "salaries"} {
			require.Equal(t, encode(t, call(t, without, name, nil)), encode(t, call(t, with, name, nil)), name)
		}
	}
}

// A former name whose tool wants one argument more works behind discovery,
// which would otherwise miss the argument that the registry adds.
func TestFormerNameThroughEverything(t *testing.T) {
	server := mcptest.Server()
	r := registry.New(server, &registry.Options{Observer: observe.Discard})
	type input struct {
		Query string `json:"query"`
		Scope string `json:"scope"`
	}
	require.NoError(t, registry.Add(r, &mcp.Tool{Name: "search_notes"}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, input, error) {
		return nil, in, nil
	}, registry.Renamed("lookup_notes", "", registry.RenamedArgument("question", "query"), registry.AddedArgument("scope", "all"))))
	_, err := steady.Wrap(server, &steady.Options{Observer: observe.Discard, Discovery: &discovery.Options{Aliases: r}})
	require.NoError(t, err)
	for _, revision := range mcptest.Revisions {
		cs := mcptest.Connect(t, server, revision)
		for _, name := range []string{"lookup_notes", "lookupNotes"} {
			res := call(t, cs, name, map[string]any{"question": "x"})
			require.False(t, res.IsError, mcptest.Text(res))
			require.JSONEq(t, `{"query":"x","scope":"all"}`, encode(t, res.StructuredContent))
			require.Equal(t, 1, strings.Count(encode(t, res.Content), "lookup_notes is now called search_notes"), encode(t, res.Content))
		}
	}
	require.EqualValues(t, 2*len(mcptest.Revisions), r.FormerNameCalls()["lookup_notes"])
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// Sixty-four sessions at once on one server.
func TestManySessions(t *testing.T) {
	server, _ := composed(t, nil)
	var sessions []*mcp.ClientSession
	for i := range 64 {
		sessions = append(sessions, mcptest.Connect(t, server, mcptest.Revisions[i%2]))
	}
	var wait sync.WaitGroup
	failed := make(chan string, 64)
	for _, cs := range sessions {
		wait.Go(func() {
			for _, name := range []string{"search_notes", "searchNotes", "ask_notes", "find_notes"} {
				res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"q": "x"}})
				if err != nil || res.IsError {
					failed <- fmt.Sprint(name, err, res)
					return
				}
			}
		})
	}
	wait.Wait()
	close(failed)
	require.Empty(t, slices.Collect(func(yield func(string) bool) {
		for f := range failed {
			if !yield(f) {
				return
			}
		}
	}))
}

func countOf(names []string, name string) (n int) {
	for _, have := range names {
		if have == name {
			n++
		}
	}
	return n
}
