package tasks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/tasks"
)

// twoProcesses runs a test with two managers that share a store; the first can be
// made to die, whereupon what it runs is run again by the second.
func twoProcesses(t *testing.T, opts tasks.Options, add func(m *tasks.Manager, s *mcp.Server, second bool),
	test func(t *testing.T, first, second *mcp.ClientSession, store *tasks.MemoryStore, die func())) {
	synctest.Test(t, func(t *testing.T) {
		store := tasks.NewMemoryStore(nil)
		dying := &deadStore{Store: store, dead: make(chan struct{})}
		sessions := make([]*mcp.ClientSession, 2)
		managers := make([]*tasks.Manager, 2)
		for i := range sessions {
			o := opts
			if o.Store = store; i == 0 {
				o.Store = dying
			}
			managers[i] = newManager(t, o)
			server := mcptest.Server()
			require.NoError(t, managers[i].Install(server))
			add(managers[i], server, i == 1)
			server.AddReceivingMiddleware(signedIn)
			sessions[i] = mcptest.Connect(t, server, "")
		}
		test(t, sessions[0], sessions[1], store, func() {
			close(dying.dead)
			time.Sleep(time.Minute) // in the bubble: beats, the lease, and the take-over
		})
		for _, m := range managers {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			_ = m.Close(ctx)
			cancel()
		}
	})
}

// signedIn makes every caller "ada", as a server behind OAuth sees her.
func signedIn(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok {
			call.Extra = &mcp.RequestExtra{
				TokenInfo: &auth.TokenInfo{UserID: "ada", Scopes: []string{"orders:read"}, Extra: map[string]any{"raw": "secret"}},
				Header:    http.Header{"Authorization": {"Bearer secret"}, "X-Other": {"x"}},
			}
		}
		return next(ctx, method, req)
	}
}

func addRaw(s *mcp.Server, name string, h mcp.ToolHandler) {
	s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
}

func TestAnotherRunKnowsTheCaller(t *testing.T) {
	keys, err := tasks.NewTokenKeys("k1", map[string][]byte{"k1": bytes.Repeat([]byte{1}, 32)})
	require.NoError(t, err)
	for name, kept := range map[string]*tasks.TokenKeys{"without the token": nil, "with the token": keys} {
		t.Run(name, func(t *testing.T) {
			var seen atomic.Pointer[mcp.RequestExtra]
			opts := tasks.Options{KeepTokens: kept, Policies: map[string]tasks.Policy{"who": {Grace: tasks.Eager, RunAgain: true}}}
			twoProcesses(t, opts, func(_ *tasks.Manager, s *mcp.Server, second bool) {
				addRaw(s, "who", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					if second {
						seen.Store(req.Extra)
						return &mcp.CallToolResult{}, nil
					}
					<-ctx.Done()
					return nil, ctx.Err()
				})
			}, func(t *testing.T, first, _ *mcp.ClientSession, store *tasks.MemoryStore, die func()) {
				res, err := call(t.Context(), first, "who", nil)
				require.NoError(t, err)
				id := taskID(t, res)
				die()
				extra := seen.Load()
				require.NotNil(t, extra, "it ran again")
				require.Equal(t, &auth.TokenInfo{UserID: "ada", Scopes: []string{"orders:read"}}, extra.TokenInfo)
				require.Equal(t, kept != nil, extra.Header.Get("Authorization") == "Bearer secret")
				require.Empty(t, extra.Header.Get("X-Other"))

				rec, err := store.Get(t.Context(), id)
				require.NoError(t, err)
				raw, err := json.Marshal(rec)
				require.NoError(t, err)
				require.NotContains(t, string(raw), "secret", "in clear, nowhere")
			})
		})
	}
}

func TestAnotherRunIsBoundedByThePolicyOfItsHandler(t *testing.T) {
	var runs atomic.Int32
	twoProcesses(t, tasks.Options{}, func(m *tasks.Manager, s *mcp.Server, _ bool) {
		policy := tasks.Policy{Grace: tasks.Eager, RunAgain: true, MaxRun: 5 * time.Minute}
		addRaw(s, "slow", tasks.Handler(m, policy, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			runs.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}))
	}, func(t *testing.T, first, second *mcp.ClientSession, store *tasks.MemoryStore, die func()) {
		res, err := call(t.Context(), first, "slow", nil)
		require.NoError(t, err)
		id := taskID(t, res)
		die()
		require.EqualValues(t, 2, runs.Load())
		time.Sleep(5 * time.Minute)
		rec, err := store.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, tasks.Failed, rec.Status)
		require.Contains(t, rec.StatusMessage, "it took longer than 5m0s")
	})
}

func TestAnotherRunIsAnsweredWhatTheFirstWas(t *testing.T) {
	opts := tasks.Options{Policies: map[string]tasks.Policy{"ask": {Grace: tasks.Eager, RunAgain: true}}}
	twoProcesses(t, opts, func(_ *tasks.Manager, s *mcp.Server, _ bool) {
		addRaw(s, "ask", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text := ""
			for _, question := range []string{"First?", "Second?"} {
				res, err := tasks.Elicit(ctx, &mcp.ElicitParams{Message: question, RequestedSchema: map[string]any{"type": "object"}})
				if err != nil {
					return nil, err
				}
				text += question + res.Content["is"].(string) + " "
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	}, func(t *testing.T, first, second *mcp.ClientSession, store *tasks.MemoryStore, die func()) {
		res, err := call(t.Context(), first, "ask", nil)
		require.NoError(t, err)
		id := taskID(t, res)
		synctest.Wait()
		answer := func(cs *mcp.ClientSession, with string) {
			rec, err := store.Get(t.Context(), id)
			require.NoError(t, err)
			require.Len(t, rec.InputRequests, 1)
			for key := range rec.InputRequests {
				res, err := call(t.Context(), cs, "task_answer", args{"task_id": id,
					"answers": args{key: args{"action": "accept", "content": args{"is": with}}}})
				require.NoError(t, err)
				require.False(t, res.IsError, mcptest.Text(res))
			}
			synctest.Wait()
		}
		answer(first, "one")
		die() // while it waits for the second answer
		answer(second, "two")
		res, err = call(t.Context(), second, "task_result", args{"task_id": id})
		require.NoError(t, err)
		require.Equal(t, "First?one Second?two ", mcptest.Text(res))
	})
}

func TestTokenKeys(t *testing.T) {
	_, err := tasks.NewTokenKeys("a", map[string][]byte{"a": make([]byte, 16)})
	require.ErrorContains(t, err, `the token key "a" has 16 bytes, not 32`)
	_, err = tasks.NewTokenKeys("b", map[string][]byte{"a": make([]byte, 32)})
	require.ErrorContains(t, err, `there is no token key "b"`)
}
