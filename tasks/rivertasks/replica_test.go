package rivertasks_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
	"github.com/steadymcp/steady/tasks/rivertasks/internal/pgserver"
)

// databases are the two kinds that everything is shown on.
var databases = map[string]func(testing.TB) string{
	"sqlite":   func(tb testing.TB) string { return sqliteDSN(tb) + "?synchronous=normal" },
	"postgres": pgserver.DSN,
}

func onBoth(t *testing.T, test func(t *testing.T, dsn string)) {
	for name, dsn := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, dsn(t))
		})
	}
}

// A replica is a server with a manager and a store of its own, as another process
// would have them.
type replica struct {
	t     *testing.T
	m     *tasks.Manager
	store *rivertasks.Store
	cs    *mcp.ClientSession
}

// startReplica starts one. All replicas have the caller "ada".
func startReplica(t *testing.T, dsn string, opts *rivertasks.Options, policies map[string]tasks.Policy, add func(*tasks.Manager, *mcp.Server)) *replica {
	t.Helper()
	r := &replica{t: t, store: open(t, dsn, opts)}
	r.m = tasks.New(&tasks.Options{Store: r.store, Policies: policies, Owner: func(mcp.Request) string { return "ada" }, Observer: logTo(t)})
	server := mcp.NewServer(&mcp.Implementation{Name: "replica"}, nil)
	add(r.m, server)
	require.NoError(t, r.m.Install(server))
	t.Cleanup(r.stop)
	st, ct := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), st, nil)
	require.NoError(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil)
	r.cs, err = client.Connect(t.Context(), ct, nil)
	require.NoError(t, err)
	return r
}

// stop ends a replica as a deploy does.
func (r *replica) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = r.m.Close(ctx)
}

func (r *replica) call(tool string, args map[string]any) *mcp.CallToolResult {
	r.t.Helper()
	res, err := r.cs.CallTool(r.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	require.NoError(r.t, err)
	return res
}

// start calls a tool that answers with a handle, and returns it.
func (r *replica) start(tool string, args map[string]any) string {
	r.t.Helper()
	return handleOf(r.t, r.call(tool, args))
}

func handleOf(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	content, _ := res.StructuredContent.(map[string]any)
	task, _ := content["task"].(map[string]any)
	id, _ := task["taskId"].(string)
	require.NotEmpty(t, id, "no handle: %s", textOf(res))
	return id
}

// result waits for what a task came to.
func (r *replica) result(id string) *mcp.CallToolResult {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		res := r.call("task_result", map[string]any{"task_id": id, "wait_seconds": 5})
		if content, _ := res.StructuredContent.(map[string]any); content["task"] == nil {
			return res
		}
	}
	r.t.Fatalf("still %+v", r.record(id))
	return nil
}

func (r *replica) record(id string) tasks.Record {
	r.t.Helper()
	rec, err := r.store.Get(r.t.Context(), id)
	require.NoError(r.t, err)
	return rec
}

func (r *replica) await(id string, what func(tasks.Record) bool) tasks.Record {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	rec := r.record(id)
	for !what(rec) {
		next, err := r.store.Watch(ctx, id, rec.Version)
		require.NoError(r.t, err, "still %+v", rec)
		rec = next
	}
	return rec
}

func textOf(res *mcp.CallToolResult) string {
	text := ""
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text
}

// runs counts how often a tool runs, over all replicas.
type runs struct {
	mu            sync.Mutex
	all, now, max int
}

func (c *runs) begin() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all++
	c.now++
	c.max = max(c.max, c.now)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now--
	}
}

func (c *runs) running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// tool adds a raw tool.
func tool(s *mcp.Server, name string, h mcp.ToolHandler) {
	s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

var eager = map[string]tasks.Policy{"export": {Grace: tasks.Eager}}

func TestCallOnOneReplicaResultOnAnother(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		release := make(chan struct{})
		export := func(_ *tasks.Manager, s *mcp.Server) {
			tool(s, "export", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				select {
				case <-release:
					return text("rows " + string(req.Params.Arguments)), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			})
		}
		a, b := startReplica(t, dsn, nil, eager, export), startReplica(t, dsn, nil, eager, export)
		id := a.start("export", map[string]any{"date": "d"})
		require.Equal(t, id, b.start("export", map[string]any{"date": "d"}), "the same call joins, wherever it comes in")
		b.await(id, func(r tasks.Record) bool { return r.Worker != "" })
		close(release)
		require.Equal(t, `rows {"date":"d"}`, textOf(b.result(id)))
		require.Equal(t, `rows {"date":"d"}`, textOf(a.result(id)))

		release = make(chan struct{})
		id = a.start("export", map[string]any{"date": "e"})
		b.await(id, func(r tasks.Record) bool { return r.Worker != "" })
		b.call("task_cancel", map[string]any{"task_id": id})
		rec := a.await(id, func(r tasks.Record) bool { return r.Worker == "" })
		require.Equal(t, tasks.Cancelled, rec.Status, "and its handler has stopped")
	})
}

func TestGracefulStopHandsOver(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		release := make(chan struct{})
		var count runs
		export := func(name string) func(*tasks.Manager, *mcp.Server) {
			return func(_ *tasks.Manager, s *mcp.Server) {
				tool(s, "export", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					defer count.begin()()
					select {
					case <-release:
						return text("by " + name), nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				})
			}
		}
		again := map[string]tasks.Policy{"export": {Grace: tasks.Eager, RunAgain: true}}
		a := startReplica(t, dsn, nil, again, export("a"))
		id := a.start("export", nil)
		a.await(id, func(r tasks.Record) bool { return r.Worker != "" })
		b := startReplica(t, dsn, nil, again, export("b"))
		a.stop()
		stopped := time.Now()
		rec := b.await(id, func(r tasks.Record) bool { return r.Run == 2 && r.Worker != "" })
		t.Log("running again after", time.Since(stopped))
		require.Equal(t, tasks.Working, rec.Status)
		close(release)
		require.Equal(t, "by b", textOf(b.result(id)))
		require.Equal(t, 1, count.max, "never two at once")
	})
}
