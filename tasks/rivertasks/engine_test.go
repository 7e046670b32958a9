package rivertasks_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
)

var noWorkers = &rivertasks.Options{Workers: rivertasks.NoWorkers}

// eventually waits for other processes.
func eventually(t *testing.T, what func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !what(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come")
		}
	}
}

// TestQueueThatWasChangedByHand: the record is the truth, and what an operator
// cancels is cancelled.
func TestQueueThatWasChangedByHand(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		front := startReplica(t, dsn, noWorkers, crashPolicies, crashTools(false))
		lost, cancelled := front.start("unsafe", nil), front.start("safe", nil)
		execute(t, dsn, `DELETE FROM river_job WHERE id = (SELECT job_id FROM mcp_task WHERE id = '`+lost+`')`)
		execute(t, dsn, `UPDATE river_job SET state = 'cancelled', finalized_at = CURRENT_TIMESTAMP WHERE id = (SELECT job_id FROM mcp_task WHERE id = '`+cancelled+`')`)
		rec := front.await(cancelled, func(r tasks.Record) bool { return r.Status.Terminal() })
		require.Equal(t, tasks.Cancelled, rec.Status)
		require.Equal(t, "Stopped by the operator.", rec.StatusMessage)
		startReplica(t, dsn, nil, crashPolicies, crashTools(false))
		require.Equal(t, "done null", textOf(front.result(lost)))
	})
}

// TestProcessThatRunsNothing: its callers wait for what others do.
func TestProcessThatRunsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		policies := map[string]tasks.Policy{"safe": {Grace: time.Minute}}
		front := startReplica(t, dsn, noWorkers, policies, crashTools(false))
		only := func(m *tasks.Manager, s *mcp.Server) { // it has tools of its own
			tool(s, "special", tasks.Handler(m, tasks.Policy{Grace: tasks.Eager}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				id, run, ok := tasks.RunOf(ctx)
				require.True(t, ok && id != "" && run == 1)
				return text("known here"), nil
			}))
		}
		special := startReplica(t, dsn, nil, nil, only)
		back := startReplica(t, dsn, nil, policies, crashTools(false))
		require.Equal(t, "done null", textOf(front.call("safe", nil)))
		for n := range 8 {
			id := special.start("special", map[string]any{"n": n})
			require.Equal(t, "known here", textOf(special.result(id)), "whoever else is given it gives it back")
		}
		in, err := back.store.Inspect(t.Context())
		require.NoError(t, err)
		require.Len(t, in.Workers, 3)
		require.Equal(t, map[tasks.Status]int{tasks.Completed: 9}, in.Counts)
		require.Empty(t, in.Stuck)
		require.Equal(t, 1, in.Schema)
		again, err := rivertasks.Inspect(t.Context(), dsn, nil)
		require.NoError(t, err)
		require.Equal(t, in.Counts, again.Counts)
	})
}

func TestResultsAreBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		big := func(_ *tasks.Manager, s *mcp.Server) {
			tool(s, "export", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return text(strings.Repeat("x", 2<<20)), nil
			})
		}
		a := startReplica(t, dsn, &rivertasks.Options{MaxResult: 3 << 20}, eager, big)
		require.Len(t, textOf(a.result(a.start("export", nil))), 2<<20)
		b := startReplica(t, dsn, &rivertasks.Options{MaxResult: 1 << 20, MaxPerOwner: 1}, eager, big)
		a.stop()
		id := b.start("export", map[string]any{"n": 2})
		rec := b.await(id, func(r tasks.Record) bool { return r.Status.Terminal() })
		require.Equal(t, tasks.Failed, rec.Status)
		require.True(t, rec.Done, "it must not be done again")
		require.Contains(t, rec.StatusMessage, "its result could not be kept")
	})
}

func TestUnfinishedTasksAreBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		r := startReplica(t, dsn, &rivertasks.Options{Workers: rivertasks.NoWorkers, MaxPerOwner: 2}, eager, crashTools(false))
		for n := range 3 {
			res := r.call("export", map[string]any{"n": n})
			require.Equal(t, n == 2, res.IsError)
			if res.IsError {
				require.Equal(t, "rate_limited", res.Meta["steady/error"].(map[string]any)["kind"])
			}
		}
	})
}

// TestBusyToolKeepsNoOtherWaiting: a process takes no more runs of a tool than it
// can run, so that others have room, here and elsewhere.
func TestBusyToolKeepsNoOtherWaiting(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		policies := map[string]tasks.Policy{"busy": {Grace: tasks.Eager, Concurrency: 1}, "other": {Grace: tasks.Eager}}
		release := make(chan struct{})
		var count runs
		add := func(_ *tasks.Manager, s *mcp.Server) {
			tool(s, "busy", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				defer count.begin()()
				<-release
				return text("at last"), nil
			})
			tool(s, "other", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("at once"), nil })
		}
		opts := &rivertasks.Options{Workers: 4}
		a := startReplica(t, dsn, opts, policies, add)
		var ids []string
		for n := range 10 {
			ids = append(ids, a.start("busy", map[string]any{"n": n}))
		}
		a.await(ids[0], func(r tasks.Record) bool { return r.Worker != "" })
		require.Equal(t, "at once", textOf(a.result(a.start("other", nil))))
		in, err := a.store.Inspect(t.Context())
		require.NoError(t, err)
		require.Equal(t, 9, in.Waiting, "for whoever has room")

		startReplica(t, dsn, opts, policies, add)
		eventually(t, func() bool { return count.running() == 2 })
		close(release)
		for _, id := range ids {
			require.Equal(t, "at last", textOf(a.result(id)))
		}
		require.Equal(t, 2, count.max)
	})
}

// TestHandlerThatDoesNotStop: it is abandoned, as with any other store, and found by
// the others once its process is gone.
func TestHandlerThatDoesNotStop(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		forever, entered := make(chan struct{}), make(chan struct{})
		t.Cleanup(func() { close(forever) })
		stubborn := func(_ *tasks.Manager, s *mcp.Server) {
			tool(s, "export", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				close(entered)
				<-forever
				return text("too late"), nil
			})
		}
		a := startReplica(t, dsn, nil, eager, stubborn)
		id := a.start("export", nil)
		<-entered // what is claimed only is given back
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		err := a.m.Close(ctx)
		abandoned, ok := errors.AsType[*tasks.AbandonedError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, []string{id}, abandoned.Tasks)
		rec := a.record(id)
		require.Equal(t, tasks.Failed, rec.Status)
		require.NotEmpty(t, rec.Worker, "it may still be at work: nothing starts beside it")
	})
}
