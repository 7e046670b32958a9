package tasks_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/tasks"
)

// unwritable is a store that, while full is set, can be read only.
type unwritable struct {
	*tasks.MemoryStore
	full atomic.Bool
}

func (s *unwritable) Update(ctx context.Context, now time.Time, r tasks.Record) (tasks.Record, error) {
	if s.full.Load() {
		return tasks.Record{}, errors.New("disk full")
	}
	return s.MemoryStore.Update(ctx, now, r)
}

// A caller does not wait for as long as a store cannot write.
func TestStoreThatCannotWrite(t *testing.T) {
	for _, local := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := &unwritable{MemoryStore: tasks.NewMemoryStore(nil)}
			var sessions []*mcp.ClientSession
			for range 2 { // of one store
				m := newManager(t, tasks.Options{Store: store, Owner: func(mcp.Request) string { return "ada" },
					Policies: map[string]tasks.Policy{"ask": {Grace: tasks.Eager}}})
				server := mcptest.Server()
				require.NoError(t, m.Install(server))
				mcp.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
					_, err := tasks.Elicit(ctx, &mcp.ElicitParams{Message: "Sure?", RequestedSchema: map[string]any{"type": "object"}})
					return nil, nil, err
				})
				sessions = append(sessions, mcptest.Connect(t, server, ""))
			}
			res, err := call(t.Context(), sessions[0], "ask", nil)
			require.NoError(t, err)
			id := taskID(t, res)
			synctest.Wait()
			there := sessions[1]
			if local {
				there = sessions[0]
			}

			store.full.Store(true)
			for tool, more := range map[string]args{
				"task_answer": {"answers": args{"input-1": args{"action": "accept"}}},
				"task_cancel": {},
			} {
				more["task_id"] = id
				began := time.Now()
				res, err := call(t.Context(), there, tool, more)
				require.NoError(t, err)
				require.True(t, res.IsError)
				require.Equal(t, "unavailable", res.Meta["steady/error"].(map[string]any)["kind"], tool)
				require.LessOrEqual(t, time.Since(began), 10*time.Second)
			}
			store.full.Store(false)
			res, err = call(t.Context(), there, "task_cancel", args{"task_id": id})
			require.NoError(t, err)
			require.False(t, res.IsError, mcptest.Text(res))
			time.Sleep(time.Minute)
		})
	}
}
