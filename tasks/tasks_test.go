package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
)

// job is a tool whose calls the test lets go one by one.
type job struct {
	started chan struct{}
	release chan struct{}
	runs    atomic.Int32
	running atomic.Int32
	most    atomic.Int32
	number  atomic.Int64 // of the last run
}

func newJob() *job {
	return &job{started: make(chan struct{}, 10_000), release: make(chan struct{})}
}

func (j *job) run(ctx context.Context) error {
	j.runs.Add(1)
	if _, number, ok := tasks.RunOf(ctx); ok {
		j.number.Store(number)
	}
	now := j.running.Add(1)
	defer j.running.Add(-1)
	for most := j.most.Load(); now > most && !j.most.CompareAndSwap(most, now); most = j.most.Load() {
	}
	j.started <- struct{}{}
	select {
	case <-j.release:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type exportInput struct {
	Date  string `json:"date,omitempty"`
	Scope string `json:"scope,omitempty"`
	Key   string `json:"idempotency_key,omitempty"`
}

type exportOutput struct {
	Rows int64 `json:"rows"`
}

func (j *job) tool(ctx context.Context, _ *mcp.CallToolRequest, _ exportInput) (*mcp.CallToolResult, exportOutput, error) {
	if err := j.run(ctx); err != nil {
		return nil, exportOutput{}, err
	}
	return nil, exportOutput{Rows: 42}, nil
}

func newManager(t testing.TB, opts tasks.Options) *tasks.Manager {
	t.Helper()
	if opts.Observer == nil {
		opts.Observer = observe.Discard
	}
	m := tasks.New(&opts)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		_ = m.Close(ctx)
	})
	return m
}

func exportServer(t testing.TB, j *job, m *tasks.Manager) *mcp.Server {
	t.Helper()
	server := mcptest.Server()
	require.NoError(t, m.Install(server))
	mcp.AddTool(server, &mcp.Tool{Name: "export"}, j.tool)
	return server
}

func call(ctx context.Context, cs *mcp.ClientSession, name string, args any) (*mcp.CallToolResult, error) {
	return cs.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
}

func taskID(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	meta, _ := res.Meta["steady/task"].(map[string]any)
	id, _ := meta["taskId"].(string)
	require.NotEmpty(t, id, "no task in %v: %s", res.Meta, mcptest.Text(res))
	return id
}

// connectExtension connects a client that follows tasks by the extension.
func connectExtension(t testing.TB, server *mcp.Server, opts *tasks.ClientOptions, copts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, copts)
	x, err := tasks.InstallClient(client, opts)
	require.NoError(t, err)
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	ss, err := server.Connect(t.Context(), serverEnd, nil)
	require.NoError(t, err)
	cs, err := client.Connect(t.Context(), x.Transport(clientEnd), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = cs.Close(); _ = ss.Wait() })
	return cs
}

func TestFastCallIsAnsweredAsAlways(t *testing.T) {
	for _, rev := range mcptest.Revisions {
		t.Run(rev, func(t *testing.T) {
			j := newJob()
			close(j.release)
			m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {}}})
			cs := mcptest.Connect(t, exportServer(t, j, m), rev)
			res, err := call(t.Context(), cs, "export", nil)
			require.NoError(t, err)
			require.False(t, res.IsError)
			require.Contains(t, mcptest.Text(res), "42")
			require.NotContains(t, res.Meta, "steady/task")
		})
	}
}

func TestSlowCallReturnsAHandleToolsCanFollow(t *testing.T) {
	for _, rev := range mcptest.Revisions {
		t.Run(rev, func(t *testing.T) {
			j := newJob()
			m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager}}})
			cs := mcptest.Connect(t, exportServer(t, j, m), rev)
			res, err := call(t.Context(), cs, "export", map[string]any{"scope": "all"})
			require.NoError(t, err)
			require.False(t, res.IsError)
			id := taskID(t, res)
			require.Contains(t, mcptest.Text(res), `task_result with {"task_id": "`+id+`"}`)

			res, err = call(t.Context(), cs, "task_status", map[string]any{"task_id": id, "wait_seconds": 0})
			require.NoError(t, err)
			require.Contains(t, mcptest.Text(res), "running")
			res, err = call(t.Context(), cs, "task_status", nil)
			require.NoError(t, err)
			require.Contains(t, mcptest.Text(res), id)

			close(j.release)
			res, err = call(t.Context(), cs, "task_result", map[string]any{"task_id": id})
			require.NoError(t, err)
			require.False(t, res.IsError)
			require.Equal(t, `{"rows":42}`, mcptest.Text(res))
			require.EqualValues(t, 1, j.runs.Load())

			// The same call once more joins, and says so.
			res, err = call(t.Context(), cs, "export", map[string]any{"scope": "all"})
			require.NoError(t, err)
			require.Equal(t, id, taskID(t, res))
			require.Contains(t, mcptest.Text(res), "Not run again")
			require.EqualValues(t, 1, j.runs.Load())
		})
	}
}

func TestClientWithTheExtensionGetsTheFinalResult(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{
		"export": {Grace: tasks.Eager, PollInterval: 10 * time.Millisecond},
	}})
	seen := make(chan tasks.Task, 100)
	cs := connectExtension(t, exportServer(t, j, m), &tasks.ClientOptions{OnTask: func(_ context.Context, task tasks.Task) { seen <- task }}, nil)
	go func() { <-j.started; close(j.release) }()
	res, err := call(t.Context(), cs, "export", nil)
	require.NoError(t, err)
	require.Contains(t, mcptest.Text(res), "42")
	require.Equal(t, tasks.Working, (<-seen).Status)

	tools, err := cs.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, tools.Tools, 1)
}

func TestCancellingTheCallCancelsTheTask(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{
		"export": {Grace: tasks.Eager, PollInterval: 10 * time.Millisecond},
	}})
	ctx, cancel := context.WithCancel(t.Context())
	cs := connectExtension(t, exportServer(t, j, m), &tasks.ClientOptions{OnTask: func(context.Context, tasks.Task) { cancel() }}, nil)
	_, err := call(ctx, cs, "export", nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool { return j.running.Load() == 0 }, 5*time.Second, time.Millisecond)
}

// What a model gets wrong in a call of the tools is named, and never taken for
// another call.
func TestToolsCheckTheirArguments(t *testing.T) {
	m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager}}})
	j := newJob()
	server := exportServer(t, j, m)
	for _, rev := range mcptest.Revisions {
		cs := mcptest.Connect(t, server, rev)
		res, err := call(t.Context(), cs, "export", nil)
		require.NoError(t, err)
		id := taskID(t, res)
		for _, c := range []struct {
			tool string
			args any
			want string
		}{
			{"task_status", args{"task_id": 5}, "task_id of task_status is not valid. Reason: it must be the task's handle, a string"},
			{"task_status", args{"taskId": 5}, "the task's handle, a string"},
			{"task_status", args{"id": id}, `task_status has no argument "id"`},
			{"task_status", args{"Task_ID": id}, `no argument "Task_ID"`},
			{"task_status", args{"task_id": id, "answers": args{}}, `no argument "answers"`},
			{"task_status", args{"task_id": id, "taskId": "other"}, "two different tasks"},
			{"task_status", args{"task_id": id, "wait_seconds": "5"}, "a number of seconds"},
			{"task_status", args{"task_id": id, "wait_seconds": -1}, "a number of seconds, 0 or more"},
			{"task_status", []any{id}, "not an object"},
			{"task_result", args{}, "task_result needs task_id"},
			{"task_cancel", args{"task_id": ""}, "task_cancel needs task_id"},
			{"task_answer", args{"task_id": id}, "task_answer needs answers"},
			{"task_answer", args{"task_id": id, "answers": "yes"}, "an object with one answer"},
		} {
			res, err := call(t.Context(), cs, c.tool, c.args)
			require.NoError(t, err, c)
			require.True(t, res.IsError, c)
			require.Contains(t, mcptest.Text(res), c.want)
			require.Equal(t, "invalid_input", res.Meta["steady/error"].(map[string]any)["kind"])
		}
		for _, good := range []args{{"taskId": id}, {"task_id": id, "taskId": id}, {"task_id": id}} {
			good["wait_seconds"] = 0
			res, err = call(t.Context(), cs, "task_status", good)
			require.NoError(t, err)
			require.Equal(t, id, taskID(t, res))
		}
		res, err = call(t.Context(), cs, "task_status", args{"task_id": nil})
		require.NoError(t, err)
		require.Contains(t, mcptest.Text(res), id, "it lists")
	}
	close(j.release)
}

func TestElicitation(t *testing.T) {
	ask := func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		res, err := tasks.Elicit(ctx, &mcp.ElicitParams{Message: "Which name?", RequestedSchema: json.RawMessage(
			`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: res.Action + " " + res.Content["name"].(string)}}}, nil, nil
	}
	newServer := func(t *testing.T) *mcp.Server {
		m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"ask": {PollInterval: 10 * time.Millisecond}}})
		server := mcptest.Server()
		require.NoError(t, m.Install(server))
		mcp.AddTool(server, &mcp.Tool{Name: "ask"}, ask)
		return server
	}
	t.Run("extension", func(t *testing.T) {
		cs := connectExtension(t, newServer(t), nil, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
			},
		})
		res, err := call(t.Context(), cs, "ask", nil)
		require.NoError(t, err)
		require.Equal(t, "accept Ada", mcptest.Text(res))
	})
	for _, rev := range mcptest.Revisions {
		t.Run("tools "+rev, func(t *testing.T) {
			cs := mcptest.Connect(t, newServer(t), rev)
			res, err := call(t.Context(), cs, "ask", nil)
			require.NoError(t, err)
			id := taskID(t, res)
			require.Contains(t, mcptest.Text(res), "Which name?", "the handle comes with the question")
			res, err = call(t.Context(), cs, "task_status", map[string]any{"task_id": id})
			require.NoError(t, err)
			require.Contains(t, mcptest.Text(res), "waiting for input")
			require.NotContains(t, mcptest.Text(res), "input_required")
			require.Contains(t, mcptest.Text(res), "Which name?")
			res, err = call(t.Context(), cs, "task_answer", map[string]any{"task_id": id, "answers": map[string]any{
				"input-1": map[string]any{"action": "accept", "content": map[string]any{"name": 7}}}})
			require.NoError(t, err)
			require.True(t, res.IsError, mcptest.Text(res))
			res, err = call(t.Context(), cs, "task_answer", map[string]any{"task_id": id, "answers": map[string]any{
				"input-1": map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}}}})
			require.NoError(t, err)
			require.False(t, res.IsError, mcptest.Text(res))
			res, err = call(t.Context(), cs, "task_result", map[string]any{"task_id": id})
			require.NoError(t, err)
			require.Equal(t, "accept Ada", mcptest.Text(res))
		})
	}
}

func TestRunOf(t *testing.T) {
	_, _, ok := tasks.RunOf(t.Context())
	require.False(t, ok, "outside of a handler")
	m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"slow": {Grace: tasks.Eager}}})
	server := mcptest.Server()
	require.NoError(t, m.Install(server))
	runs := make(chan string, 1)
	for _, name := range []string{"quick", "slow"} {
		mcp.AddTool(server, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			id, run, ok := tasks.RunOf(ctx)
			runs <- fmt.Sprint(id, run, ok)
			return nil, nil, nil
		})
	}
	cs := mcptest.Connect(t, server, "")
	_, err := call(t.Context(), cs, "quick", args{})
	require.NoError(t, err)
	require.Equal(t, "0false", strings.ReplaceAll(<-runs, " ", ""), "no policy, no task")
	res, err := call(t.Context(), cs, "slow", args{})
	require.NoError(t, err)
	require.Equal(t, taskID(t, res)+"1true", strings.ReplaceAll(<-runs, " ", ""))
}
