package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/tasks"
)

var jsonrpcError = jsonrpc.Error{Code: -32603, Message: "broken"}

// inBubble is a server with the tool export and a client, with a clock that
// does not wait.
func inBubble(t *testing.T, opts tasks.Options, j *job, test func(t *testing.T, m *tasks.Manager, cs *mcp.ClientSession)) {
	synctest.Test(t, func(t *testing.T) {
		j.started, j.release = make(chan struct{}, 1000), make(chan struct{})
		m := newManager(t, opts)
		test(t, m, mcptest.Connect(t, exportServer(t, j, m), ""))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = m.Close(ctx)
	})
}

// B208: a call is answered with a handle before any client gives up.
func TestGrace(t *testing.T) {
	j := newJob()
	inBubble(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {}}}, j, func(t *testing.T, _ *tasks.Manager, cs *mcp.ClientSession) {
		before := time.Now()
		res, err := call(t.Context(), cs, "export", args{})
		require.NoError(t, err)
		require.Equal(t, 5*time.Second, time.Since(before))
		id := taskID(t, res)

		// Asking for news waits for it, but not for ever.
		before = time.Now()
		res, err = call(t.Context(), cs, "task_status", args{"task_id": id})
		require.NoError(t, err)
		require.Equal(t, 20*time.Second, time.Since(before))
		require.Contains(t, mcptest.Text(res), "export has been running for 25s")
		go func() { time.Sleep(3 * time.Second); close(j.release) }()
		res, err = call(t.Context(), cs, "task_result", args{"task_id": id})
		require.NoError(t, err)
		require.Equal(t, `{"rows":42}`, mcptest.Text(res))
		require.Equal(t, 23*time.Second, time.Since(before))
	})
}

// B196, B198: the time to live counts from the end; running work is bounded by
// its maximum run time, and what comes later is dropped.
func TestTimeToLiveAndMaximumRunTime(t *testing.T) {
	j := newJob()
	seen := newEvents()
	policy := tasks.Policy{TTL: time.Minute, MaxRun: time.Hour}
	inBubble(t, tasks.Options{Observer: seen, Policies: map[string]tasks.Policy{"export": policy}}, j, func(t *testing.T, _ *tasks.Manager, cs *mcp.ClientSession) {
		status := func(id string) string {
			t.Helper()
			res, err := call(t.Context(), cs, "task_status", args{"task_id": id, "wait_seconds": 0})
			require.NoError(t, err)
			return mcptest.Text(res)
		}
		res, err := call(t.Context(), cs, "export", args{})
		require.NoError(t, err)
		id := taskID(t, res)
		time.Sleep(30 * time.Minute)
		require.Contains(t, status(id), "running for 30m")
		close(j.release)
		synctest.Wait()
		time.Sleep(time.Minute - time.Second)
		require.Contains(t, status(id), "is done")
		time.Sleep(time.Second)
		require.Contains(t, status(id), "there is no task")
		time.Sleep(time.Minute) // swept in between
		require.Contains(t, status(id), "there is no task")

		j.release = make(chan struct{})
		res, err = call(t.Context(), cs, "export", args{"date": "slow"})
		require.NoError(t, err)
		id = taskID(t, res)
		time.Sleep(time.Hour - 5*time.Second)
		synctest.Wait()
		require.Contains(t, status(id), "it took longer than 1h")
		require.Contains(t, status(id), "check before you start it again")
		require.Zero(t, j.running.Load())
	})
}

// A handler that does not listen holds its identity until it returns: two at
// once would be worse than a wait.
func TestStubbornHandlerIsNotRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := newEvents()
		m := newManager(t, tasks.Options{Observer: seen, Policies: map[string]tasks.Policy{"export": {Grace: time.Second}}})
		server := mcptest.Server()
		require.NoError(t, m.Install(server))
		var runs atomic.Int32
		mcp.AddTool(server, &mcp.Tool{Name: "export"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			runs.Add(1)
			time.Sleep(time.Minute)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
		})
		cs := mcptest.Connect(t, server, "")
		res, err := call(t.Context(), cs, "export", args{})
		require.NoError(t, err)
		id := taskID(t, res)
		res, err = call(t.Context(), cs, "task_cancel", args{"task_id": id})
		require.NoError(t, err)
		require.Contains(t, mcptest.Text(res), "was stopped")

		res, err = call(t.Context(), cs, "export", args{})
		require.NoError(t, err)
		require.True(t, res.IsError)
		require.Contains(t, mcptest.Text(res), "still ending")
		require.Equal(t, "unavailable", res.Meta["steady/error"].(map[string]any)["kind"])
		time.Sleep(time.Minute)
		res, err = call(t.Context(), cs, "export", args{})
		require.NoError(t, err)
		require.False(t, res.IsError)
		require.EqualValues(t, 2, runs.Load())

		dropped := 0
		for _, e := range seen.all() {
			if d, ok := e.(tasks.Dropped); ok {
				dropped++
				require.Equal(t, id, d.Task)
			}
		}
		require.Equal(t, 1, dropped, "the operator learns that work was done after the cancellation")
		require.NoError(t, m.Close(t.Context()))
	})
}

// Its record may expire before a handler that does not listen returns.
func TestStubbornHandlerIsNotRunTwiceAfterItsRecordExpires(t *testing.T) {
	for name, policy := range map[string]tasks.Policy{
		"nobody has the handle": {MaxRun: time.Second},
		"as a task":             {MaxRun: time.Second, Grace: tasks.Eager, TTL: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"export": policy}})
				server := mcptest.Server()
				require.NoError(t, m.Install(server))
				var runs atomic.Int32
				mcp.AddTool(server, &mcp.Tool{Name: "export"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
					runs.Add(1)
					time.Sleep(10 * time.Minute)
					return &mcp.CallToolResult{}, nil, nil
				})
				cs := mcptest.Connect(t, server, "")
				_, err := call(t.Context(), cs, "export", args{"idempotency_key": "k"})
				require.NoError(t, err)
				for range 12 {
					time.Sleep(40 * time.Second)
					res, err := call(t.Context(), cs, "export", args{"idempotency_key": "k"})
					require.NoError(t, err)
					require.Contains(t, mcptest.Text(res), "still ending")
					require.EqualValues(t, 1, runs.Load())
				}
				time.Sleep(2 * time.Minute)
				_, err = call(t.Context(), cs, "export", args{"idempotency_key": "k"})
				require.NoError(t, err)
				synctest.Wait()
				require.EqualValues(t, 2, runs.Load())
				time.Sleep(10 * time.Minute)
				require.NoError(t, m.Close(t.Context()))
			})
		})
	}
}

// B206: a caller that gives up is answered, and the work goes on for the retry.
func TestCallerThatGivesUpIsJoinedByItsRetry(t *testing.T) {
	j := newJob()
	inBubble(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {}}}, j, func(t *testing.T, _ *tasks.Manager, cs *mcp.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := call(ctx, cs, "export", args{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		go func() { time.Sleep(time.Second); close(j.release) }()
		res, err := call(t.Context(), cs, "export", args{})
		require.NoError(t, err)
		require.Contains(t, mcptest.Text(res), "the call of 2s ago")
		require.EqualValues(t, 1, j.runs.Load())
	})
}

func TestCallThatNobodyCanJoinEndsWithItsCaller(t *testing.T) {
	j := newJob()
	inBubble(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {Window: tasks.NoWindow}}}, j, func(t *testing.T, _ *tasks.Manager, cs *mcp.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := call(ctx, cs, "export", args{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		require.Zero(t, j.running.Load())
	})
}

// B201: a model that has lost its handle finds it.
func TestAbandonedCallIsListed(t *testing.T) {
	j := newJob()
	inBubble(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {}}}, j, func(t *testing.T, _ *tasks.Manager, cs *mcp.ClientSession) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := call(ctx, cs, "export", args{})
		require.Error(t, err)
		synctest.Wait()
		res, err := call(t.Context(), cs, "task_status", args{})
		require.NoError(t, err)
		listed := res.StructuredContent.(map[string]any)["tasks"].([]any)
		require.Len(t, listed, 1)
		id := listed[0].(map[string]any)["taskId"]
		res, err = call(t.Context(), cs, "task_cancel", args{"task_id": id})
		require.NoError(t, err)
		require.False(t, res.IsError)
		synctest.Wait()
		require.Zero(t, j.running.Load())
		res, err = call(t.Context(), cs, "task_cancel", args{"task_id": id})
		require.NoError(t, err)
		require.Contains(t, mcptest.Text(res), "Nothing to stop")
	})
}

func TestConcurrencyAndQueue(t *testing.T) {
	j := newJob()
	policy := tasks.Policy{Grace: time.Second, Concurrency: 2, Queue: 1}
	inBubble(t, tasks.Options{Policies: map[string]tasks.Policy{"export": policy}}, j, func(t *testing.T, _ *tasks.Manager, cs *mcp.ClientSession) {
		var ids []string
		for i := range 3 {
			res, err := call(t.Context(), cs, "export", args{"date": fmt.Sprint(i)})
			require.NoError(t, err)
			ids = append(ids, taskID(t, res))
		}
		require.EqualValues(t, 2, j.runs.Load())
		res, err := call(t.Context(), cs, "task_status", args{"task_id": ids[2], "wait_seconds": 0})
		require.NoError(t, err)
		require.Contains(t, mcptest.Text(res), "Waiting for its turn")

		res, err = call(t.Context(), cs, "export", args{"date": "3"})
		require.NoError(t, err)
		require.True(t, res.IsError)
		meta := res.Meta["steady/error"].(map[string]any)
		require.Equal(t, "rate_limited", meta["kind"])
		require.NotZero(t, meta["retryAfterMs"])
		res, err = call(t.Context(), cs, "export", args{"date": "0"})
		require.NoError(t, err)
		require.Equal(t, ids[0], taskID(t, res), "joining needs no place")

		_, err = call(t.Context(), cs, "task_cancel", args{"task_id": ids[2]})
		require.NoError(t, err)
		synctest.Wait()
		res, err = call(t.Context(), cs, "export", args{"date": "4"})
		require.NoError(t, err)
		require.False(t, res.IsError, "the place in the queue is free again")
		close(j.release)
		res, err = call(t.Context(), cs, "task_result", args{"task_id": taskID(t, res)})
		require.NoError(t, err)
		require.Equal(t, `{"rows":42}`, mcptest.Text(res))
		require.EqualValues(t, 3, j.runs.Load())
		require.EqualValues(t, 2, j.most.Load())
	})
}

func TestFullStoreRefuses(t *testing.T) {
	j := newJob()
	store := tasks.NewMemoryStore(&tasks.MemoryOptions{MaxTasks: 1, MaxPerOwner: 1})
	inBubble(t, tasks.Options{Store: store, Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager}}}, j, func(t *testing.T, _ *tasks.Manager, cs *mcp.ClientSession) {
		_, err := call(t.Context(), cs, "export", args{"date": "1"})
		require.NoError(t, err)
		res, err := call(t.Context(), cs, "export", args{"date": "2"})
		require.NoError(t, err)
		require.True(t, res.IsError)
		require.Equal(t, "rate_limited", res.Meta["steady/error"].(map[string]any)["kind"])
		synctest.Wait()
		require.EqualValues(t, 1, j.runs.Load())
	})
}

func TestResultWithoutRoomFailsItsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, tasks.Options{Store: tasks.NewMemoryStore(&tasks.MemoryOptions{MaxBytes: 100_000}),
			Policies: map[string]tasks.Policy{"big": {Grace: tasks.Eager}}})
		server := mcptest.Server()
		require.NoError(t, m.Install(server))
		mcp.AddTool(server, &mcp.Tool{Name: "big"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(make([]byte, 200_000))}}}, nil, nil
		})
		cs := mcptest.Connect(t, server, "")
		res, err := call(t.Context(), cs, "big", nil)
		require.NoError(t, err)
		res, err = call(t.Context(), cs, "task_result", args{"task_id": taskID(t, res)})
		require.NoError(t, err)
		require.True(t, res.IsError)
		require.Contains(t, mcptest.Text(res), "could not be kept")
		require.NoError(t, m.Close(t.Context()))
	})
}

func TestClose(t *testing.T) {
	t.Run("drains", func(t *testing.T) {
		j := newJob()
		inBubble(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager}}}, j, func(t *testing.T, m *tasks.Manager, cs *mcp.ClientSession) {
			res, err := call(t.Context(), cs, "export", args{})
			require.NoError(t, err)
			id := taskID(t, res)
			go func() { time.Sleep(time.Minute); close(j.release) }()
			closed := make(chan error)
			go func() { closed <- m.Close(context.Background()) }()
			synctest.Wait()
			res, err = call(t.Context(), cs, "export", args{"date": "new"})
			require.NoError(t, err)
			require.True(t, res.IsError)
			require.Contains(t, mcptest.Text(res), "shutting down")
			require.NoError(t, <-closed)
			res, err = call(t.Context(), cs, "task_result", args{"task_id": id})
			require.NoError(t, err)
			require.False(t, res.IsError)
			require.NoError(t, m.Close(context.Background()), "once more")
		})
	})
	t.Run("cancels", func(t *testing.T) {
		j := newJob()
		inBubble(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager}}}, j, func(t *testing.T, m *tasks.Manager, cs *mcp.ClientSession) {
			res, err := call(t.Context(), cs, "export", args{})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			require.NoError(t, m.Close(ctx), "the handler listened")
			require.Zero(t, j.running.Load())
			res, err = call(t.Context(), cs, "task_result", args{"task_id": taskID(t, res)})
			require.NoError(t, err)
			require.Contains(t, mcptest.Text(res), "Whether the work was done is not known")
		})
	})
	t.Run("reports what it abandons", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"deaf": {Grace: tasks.Eager}}})
			server := mcptest.Server()
			require.NoError(t, m.Install(server))
			mcp.AddTool(server, &mcp.Tool{Name: "deaf"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
				time.Sleep(time.Hour)
				return nil, nil, nil
			})
			cs := mcptest.Connect(t, server, "")
			res, err := call(t.Context(), cs, "deaf", nil)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			var abandoned *tasks.AbandonedError
			require.ErrorAs(t, m.Close(ctx), &abandoned)
			require.Equal(t, []string{taskID(t, res)}, abandoned.Tasks)
			time.Sleep(time.Hour)
		})
	})
}

// deadStore is a store as a process leaves it that dies: nothing is written any
// more, and no beat.
type deadStore struct {
	tasks.Store
	dead chan struct{}
}

func (s *deadStore) gone() bool {
	select {
	case <-s.dead:
		return true
	default:
		return false
	}
}

func (s *deadStore) Beat(ctx context.Context, worker string, until time.Time) error {
	if s.gone() {
		return errors.New("dead")
	}
	return s.Store.Beat(ctx, worker, until)
}

func (s *deadStore) Update(ctx context.Context, now time.Time, r tasks.Record) (tasks.Record, error) {
	if s.gone() {
		return r, tasks.ErrNotFound
	}
	return s.Store.Update(ctx, now, r)
}

func (s *deadStore) Lost(ctx context.Context, now time.Time, limit int) ([]tasks.Record, error) {
	if s.gone() {
		return nil, errors.New("dead")
	}
	return s.Store.Lost(ctx, now, limit)
}

// B193: what is unknown is said to be unknown, and not to be retried blindly.
func TestProcessThatDies(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("run again %v", again), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := tasks.NewMemoryStore(nil)
				dying := &deadStore{Store: store, dead: make(chan struct{})}
				owner := func(mcp.Request) string { return "ada" }
				policies := map[string]tasks.Policy{"export": {Grace: tasks.Eager, RunAgain: again}}
				first, second := newJob(), newJob()
				m1 := newManager(t, tasks.Options{Store: dying, Owner: owner, Policies: policies})
				m2 := newManager(t, tasks.Options{Store: store, Owner: owner, Policies: policies})
				cs1 := mcptest.Connect(t, exportServer(t, first, m1), "")
				cs2 := mcptest.Connect(t, exportServer(t, second, m2), "")
				res, err := call(t.Context(), cs1, "export", args{"date": "d", "scope": "s"})
				require.NoError(t, err)
				id := taskID(t, res)
				close(dying.dead)
				res, err = call(t.Context(), cs2, "export", args{"date": "d", "scope": "s"})
				require.NoError(t, err)
				require.Equal(t, id, taskID(t, res), "it may be alive")
				time.Sleep(time.Minute)

				if !again {
					res, err = call(t.Context(), cs2, "task_result", args{"task_id": id})
					require.NoError(t, err)
					require.True(t, res.IsError)
					require.Contains(t, mcptest.Text(res), "Whether the work was done is not known: check before you start it again")
					require.Zero(t, second.runs.Load())
				} else {
					close(second.release)
					res, err = call(t.Context(), cs2, "task_result", args{"task_id": id})
					require.NoError(t, err)
					require.Equal(t, `{"rows":42}`, mcptest.Text(res))
					require.EqualValues(t, 1, second.runs.Load())
					require.EqualValues(t, 2, second.number.Load(), "the number of the run")
				}
				require.EqualValues(t, 1, first.number.Load(), "the number of the run")
				require.Zero(t, first.running.Load(), "the old run is fenced off, if it is not gone after all")
				require.NoError(t, m2.Close(t.Context()))
				close(first.release)
			})
		})
	}
}

// B200: a handle that was lost in a restart, one that expired, and one that
// never was.
func TestLostInARestart(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: eager})
	id := serveHTTP(t, exportServer(t, j, m), m).create(nil)

	restarted := newManager(t, tasks.Options{Policies: eager})
	c := serveHTTP(t, exportServer(t, j, restarted), restarted)
	got := c.get(id)
	require.Equal(t, "failed", got["status"])
	require.Contains(t, got["statusMessage"], "server was restarted and has kept nothing of this task")
	require.EqualValues(t, -32603, got["error"].(map[string]any)["code"])
	for _, method := range []string{"tasks/cancel", "tasks/update"} {
		r := c.do(method, map[string]any{"taskId": id, "inputResponses": map[string]any{}}, nil)
		require.Nil(t, r.Error)
	}
	mistyped := []byte(id)
	mistyped[15] ^= 1
	require.Equal(t, -32602, c.code("tasks/get", map[string]any{"taskId": string(mistyped)}))
	// Whoever has no identity learns nothing.
	require.Equal(t, -32602, c.as("").code("tasks/get", map[string]any{"taskId": id}))
}

func TestCancelOnAnotherReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := tasks.NewMemoryStore(nil)
		owner := func(mcp.Request) string { return "ada" }
		j := newJob()
		opts := tasks.Options{Store: store, Owner: owner, Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager}}}
		a, b := newManager(t, opts), newManager(t, opts)
		csA, csB := mcptest.Connect(t, exportServer(t, j, a), ""), mcptest.Connect(t, exportServer(t, j, b), "")
		res, err := call(t.Context(), csA, "export", nil)
		require.NoError(t, err)
		<-j.started
		_, err = call(t.Context(), csB, "task_cancel", args{"task_id": taskID(t, res)})
		require.NoError(t, err)
		synctest.Wait()
		require.Zero(t, j.running.Load())
		res, err = call(t.Context(), csA, "task_result", args{"task_id": taskID(t, res)})
		require.NoError(t, err)
		require.Contains(t, mcptest.Text(res), "was cancelled")
		require.NoError(t, errors.Join(a.Close(t.Context()), b.Close(t.Context())))
	})
}

func TestStructuredContentKeepsItsNumbers(t *testing.T) {
	m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"count": {Grace: tasks.Eager}}})
	server := mcptest.Server()
	require.NoError(t, m.Install(server))
	server.AddTool(&mcp.Tool{Name: "count", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"n":9007199254740993}`), Content: []mcp.Content{}}, nil
		})
	c := serveHTTP(t, server, m).undeclared()
	r := c.do("tools/call", map[string]any{"name": "count", "arguments": map[string]any{}}, nil)
	id := r.Result["structuredContent"].(map[string]any)["task"].(map[string]any)["taskId"]
	require.Contains(t, c.raw("tools/call", map[string]any{"name": "task_result", "arguments": map[string]any{"task_id": id}}), "9007199254740993")
	require.Contains(t, c.raw("tools/call", map[string]any{"name": "count", "arguments": map[string]any{}}), "9007199254740993")
}

// moodyStore is a store that cannot be reached at times.
type moodyStore struct {
	tasks.Store
	away atomic.Bool
}

func (s *moodyStore) err() error {
	if s.away.Load() {
		return errors.New("dial tcp 10.0.0.7:5432: connection refused")
	}
	return nil
}

func (s *moodyStore) Create(ctx context.Context, now time.Time, r tasks.Record) (tasks.Record, bool, error) {
	if err := s.err(); err != nil {
		return r, false, err
	}
	return s.Store.Create(ctx, now, r)
}

func (s *moodyStore) Get(ctx context.Context, id string) (tasks.Record, error) {
	if err := s.err(); err != nil {
		return tasks.Record{}, err
	}
	return s.Store.Get(ctx, id)
}

func (s *moodyStore) Update(ctx context.Context, now time.Time, r tasks.Record) (tasks.Record, error) {
	if err := s.err(); err != nil {
		return r, err
	}
	return s.Store.Update(ctx, now, r)
}

func TestStoreThatIsAway(t *testing.T) {
	j := newJob()
	store := &moodyStore{Store: tasks.NewMemoryStore(nil)}
	inBubble(t, tasks.Options{Store: store, Policies: map[string]tasks.Policy{"export": {}}}, j, func(t *testing.T, m *tasks.Manager, cs *mcp.ClientSession) {
		res, err := call(t.Context(), cs, "export", args{})
		require.NoError(t, err)
		id := taskID(t, res)
		store.away.Store(true)
		close(j.release)
		synctest.Wait()

		res, err = call(t.Context(), cs, "task_status", args{"task_id": id})
		require.NoError(t, err)
		require.True(t, res.IsError)
		require.Contains(t, mcptest.Text(res), "cannot be looked at now")
		require.Contains(t, mcptest.Text(res), "Retry after 5s")
		require.NotContains(t, mcptest.Text(res), "10.0.0.7")
		res, err = call(t.Context(), cs, "export", args{"date": "other"})
		require.NoError(t, err)
		require.True(t, res.IsError, "what cannot be remembered is not started")
		require.NotContains(t, mcptest.Text(res), "10.0.0.7")
		require.EqualValues(t, 1, j.runs.Load())

		time.Sleep(time.Hour)
		store.away.Store(false)
		res, err = call(t.Context(), cs, "task_result", args{"task_id": id})
		require.NoError(t, err)
		require.Equal(t, `{"rows":42}`, mcptest.Text(res), "the result was not lost")
		require.NoError(t, m.Close(t.Context()))
	})
}

func TestCancellationAndCompletionHaveOneWinner(t *testing.T) {
	won := map[string]int{}
	for range 20 {
		j := newJob()
		inBubble(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager}}}, j, func(t *testing.T, m *tasks.Manager, cs *mcp.ClientSession) {
			res, err := call(t.Context(), cs, "export", args{})
			require.NoError(t, err)
			id := taskID(t, res)
			<-j.started
			go close(j.release)
			_, err = call(t.Context(), cs, "task_cancel", args{"task_id": id})
			require.NoError(t, err)
			synctest.Wait()
			status := func() string {
				res, err := call(t.Context(), cs, "task_status", args{"task_id": id})
				require.NoError(t, err)
				return res.StructuredContent.(map[string]any)["task"].(map[string]any)["status"].(string)
			}
			first := status()
			require.Contains(t, []string{"completed", "cancelled"}, first)
			require.Equal(t, first, status())
			won[first]++
			// What was completed is joined, what was cancelled can be called again.
			res, err = call(t.Context(), cs, "export", args{})
			require.NoError(t, err)
			require.Equal(t, first == "completed", taskID(t, res) == id)
			require.NoError(t, m.Close(t.Context()))
		})
	}
	t.Log(won)
}

func TestToolNames(t *testing.T) {
	j := newJob()
	names := tasks.ToolNames{Status: "job_status", Result: "job_result"}
	inBubble(t, tasks.Options{ToolNames: names, Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager}}}, j, func(t *testing.T, _ *tasks.Manager, cs *mcp.ClientSession) {
		list, err := cs.ListTools(t.Context(), nil)
		require.NoError(t, err)
		var have []string
		for _, tool := range list.Tools {
			have = append(have, tool.Name)
		}
		require.Equal(t, []string{"export", "job_result", "job_status", "task_answer", "task_cancel"}, have)
		res, err := call(t.Context(), cs, "export", args{})
		require.NoError(t, err)
		require.Contains(t, mcptest.Text(res), "call job_result with")
		close(j.release)
		res, err = call(t.Context(), cs, "job_result", args{"task_id": taskID(t, res)})
		require.NoError(t, err)
		require.Equal(t, `{"rows":42}`, mcptest.Text(res))
	})
}
