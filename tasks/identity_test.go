package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/tasks"
)

// counter is a tool that says how often it has run, and fails when told to.
type counter struct {
	runs int
	fail func(run int) error
}

func (c *counter) tool(context.Context, *mcp.CallToolRequest, exportInput) (*mcp.CallToolResult, any, error) {
	c.runs++
	if c.fail != nil {
		if err := c.fail(c.runs); err != nil {
			return nil, nil, err
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("run %d", c.runs)}}}, nil, nil
}

// bubble runs a test on a client of a server whose tool export has a policy, in
// a bubble whose clock does not wait.
func bubble(t *testing.T, policy tasks.Policy, c *counter, test func(t *testing.T, call func(args map[string]any, meta ...string) *mcp.CallToolResult)) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"export": policy}})
		server := mcptest.Server()
		require.NoError(t, m.Install(server))
		mcp.AddTool(server, &mcp.Tool{Name: "export"}, c.tool)
		cs := mcptest.Connect(t, server, "")
		test(t, func(args map[string]any, meta ...string) *mcp.CallToolResult {
			params := &mcp.CallToolParams{Name: "export", Arguments: args}
			if len(meta) > 0 {
				params.Meta = mcp.Meta{"steady/idempotencyKey": meta[0]}
			}
			res, err := cs.CallTool(t.Context(), params)
			require.NoError(t, err)
			return res
		})
		require.NoError(t, m.Close(t.Context()))
	})
}

type args = map[string]any

// B188, B191: without a key, or with a fresh one each time, the arguments decide
// for a while; the JSON-RPC id, which is another one each time, never does.
func TestDefaultIdentity(t *testing.T) {
	c := &counter{}
	bubble(t, tasks.Policy{}, c, func(t *testing.T, call func(args, ...string) *mcp.CallToolResult) {
		require.Equal(t, "run 1", mcptest.Text(call(args{"date": "d", "scope": "s"})))
		time.Sleep(12 * time.Second)
		again := call(args{"scope": "s", "date": "d"})
		require.Equal(t, "run 1\n(Not run again: this is the result of the call of 12s ago.)", mcptest.Text(again))
		require.Equal(t, true, again.Meta["steady/task"].(map[string]any)["joined"])
		require.EqualValues(t, 12_000, again.Meta["steady/task"].(map[string]any)["ageMs"])
		require.Contains(t, mcptest.Text(call(args{"date": "d", "scope": "s", "idempotency_key": "fresh"})), "run 1")
		require.Contains(t, mcptest.Text(call(args{"date": "other"})), "run 2")
		time.Sleep(48 * time.Second) // a minute after the end of the first call
		require.Equal(t, "run 3", mcptest.Text(call(args{"date": "d", "scope": "s"})))
	})
}

func TestDefaultIdentityCanBeTurnedOff(t *testing.T) {
	c := &counter{}
	bubble(t, tasks.Policy{Window: tasks.NoWindow}, c, func(t *testing.T, call func(args, ...string) *mcp.CallToolResult) {
		require.Equal(t, "run 1", mcptest.Text(call(args{"date": "d"})))
		require.Equal(t, "run 2", mcptest.Text(call(args{"date": "d"})))
		require.Equal(t, "run 3", mcptest.Text(call(args{"date": "d", "idempotency_key": "k"})))
		require.Contains(t, mcptest.Text(call(args{"date": "d", "idempotency_key": "k"})), "run 3", "a key still counts")
	})
}

// B190: the key counts for every tool that has a policy; no handler forwards it.
func TestKeyIsKeptAsLongAsTheResult(t *testing.T) {
	c := &counter{}
	bubble(t, tasks.Policy{TTL: 10 * time.Minute}, c, func(t *testing.T, call func(args, ...string) *mcp.CallToolResult) {
		require.Equal(t, "run 1", mcptest.Text(call(args{"date": "d", "idempotency_key": "k"})))
		time.Sleep(10*time.Minute - time.Second)
		require.Contains(t, mcptest.Text(call(args{"date": "d", "idempotency_key": "k"})), "run 1")
		require.Contains(t, mcptest.Text(call(args{"date": "d"}, "k")), "run 1", "in _meta it is the same key")
		time.Sleep(time.Second)
		require.Equal(t, "run 2", mcptest.Text(call(args{"date": "d", "idempotency_key": "k"})))
	})
}

func TestKeyWithOtherArgumentsIsRefused(t *testing.T) {
	c := &counter{}
	bubble(t, tasks.Policy{}, c, func(t *testing.T, call func(args, ...string) *mcp.CallToolResult) {
		call(args{"date": "d"}, "k")
		res := call(args{"date": "other"}, "k")
		require.True(t, res.IsError)
		require.Equal(t, "conflict", res.Meta["steady/error"].(map[string]any)["kind"])
		require.Contains(t, mcptest.Text(res), "used for another call")
		require.Equal(t, 1, c.runs)
		require.True(t, call(args{}, string(make([]byte, 10_000))).IsError, "a key is bounded")
	})
}

// A key counts from the call that brought it, also if that call was not run.
func TestKeyOfAJoinedCallIsHeld(t *testing.T) {
	c := &counter{}
	bubble(t, tasks.Policy{}, c, func(t *testing.T, call func(args, ...string) *mcp.CallToolResult) {
		require.Equal(t, "run 1", mcptest.Text(call(args{"date": "d"})))
		time.Sleep(30 * time.Second)
		require.Contains(t, mcptest.Text(call(args{"date": "d"}, "K")), "run 1")
		require.Equal(t, "conflict", call(args{"date": "other"}, "K").Meta["steady/error"].(map[string]any)["kind"])
		time.Sleep(time.Hour - time.Second)
		require.Contains(t, mcptest.Text(call(args{"date": "d"}, "K")), "run 1")
		require.Equal(t, 1, c.runs)
		time.Sleep(time.Second)
		require.Equal(t, "run 2", mcptest.Text(call(args{"date": "d"}, "K")))
	})
	c = &counter{}
	byDate := tasks.Policy{Identity: tasks.By(func(in exportInput) string { return in.Date })}
	bubble(t, byDate, c, func(t *testing.T, call func(args, ...string) *mcp.CallToolResult) {
		call(args{"date": "d", "scope": "a"}, "A")
		require.Contains(t, mcptest.Text(call(args{"date": "d", "scope": "b"}, "B")), "run 1")
		require.Contains(t, mcptest.Text(call(args{"date": "d", "scope": "b"}, "B")), "run 1")
		require.True(t, call(args{"date": "e"}, "B").IsError, "the key was used for another call")
		require.Equal(t, 1, c.runs)
		for i := range 300 {
			res := call(args{"date": "d"}, fmt.Sprint(i))
			require.Equal(t, i >= 255, res.IsError, i)
		}
		require.Contains(t, mcptest.Text(call(args{"date": "d"}, "299")), "too many idempotency keys")
		require.False(t, call(args{"date": "d"}).IsError)
		require.Equal(t, 1, c.runs)
	})
}

// A key whose call joins one that then fails is free, as that one's own key is.
func TestKeyOfACallThatJoinedAFailureIsFree(t *testing.T) {
	c := &counter{fail: func(run int) error {
		if run == 1 {
			time.Sleep(time.Second)
			return fmt.Errorf("bucket not reachable")
		}
		return nil
	}}
	bubble(t, tasks.Policy{}, c, func(t *testing.T, call func(args, ...string) *mcp.CallToolResult) {
		first := make(chan bool)
		go func() { first <- call(args{"date": "d"}).IsError }()
		synctest.Wait()
		require.True(t, call(args{"date": "d"}, "K").IsError)
		require.True(t, <-first)
		require.Equal(t, "run 2", mcptest.Text(call(args{"date": "d"}, "K")))
	})
}

func TestBusinessIdentity(t *testing.T) {
	c := &counter{}
	byDate := tasks.Policy{TTL: 10 * time.Minute, Identity: tasks.By(func(in exportInput) string { return in.Date })}
	bubble(t, byDate, c, func(t *testing.T, call func(args, ...string) *mcp.CallToolResult) {
		call(args{"date": "d", "scope": "a", "idempotency_key": "1"})
		time.Sleep(5 * time.Minute)
		require.Contains(t, mcptest.Text(call(args{"date": "d", "scope": "b", "idempotency_key": "2"})), "run 1")
		require.Equal(t, "run 2", mcptest.Text(call(args{"date": "e"})))
		time.Sleep(5 * time.Minute)
		require.Equal(t, "run 3", mcptest.Text(call(args{"date": "d"})))
	})
}

// B195: whatever way a call fails, its key is free again, and the next one runs.
func TestFailureLetsGoOfTheKey(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error":          func() error { return fmt.Errorf("bucket not reachable") },
		"panic":          func() error { panic("secret") },
		"protocol error": func() error { return &jsonrpcError },
	} {
		t.Run(name, func(t *testing.T) {
			c := &counter{fail: func(run int) error {
				if run == 1 {
					return fail()
				}
				return nil
			}}
			synctest.Test(t, func(t *testing.T) {
				m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {}}})
				server := mcptest.Server()
				require.NoError(t, m.Install(server))
				mcp.AddTool(server, &mcp.Tool{Name: "export"}, c.tool)
				cs := mcptest.Connect(t, server, "")
				res, err := call(t.Context(), cs, "export", args{"idempotency_key": "k"})
				require.True(t, err != nil || res.IsError)
				if err != nil {
					require.NotContains(t, err.Error(), "secret")
				}
				for range 2 {
					res, err = call(t.Context(), cs, "export", args{"idempotency_key": "k"})
					require.NoError(t, err)
					require.Contains(t, mcptest.Text(res), "run 2")
				}
				require.NoError(t, m.Close(t.Context()))
			})
		})
	}
}

func TestPanicOfAnIdentityRefusesTheCall(t *testing.T) {
	c := &counter{}
	j := tasks.Policy{Identity: func(json.RawMessage) string { panic("secret") }}
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"export": j}})
		server := mcptest.Server()
		require.NoError(t, m.Install(server))
		mcp.AddTool(server, &mcp.Tool{Name: "export"}, c.tool)
		_, err := call(t.Context(), mcptest.Connect(t, server, ""), "export", args{})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
		require.Zero(t, c.runs)
		require.NoError(t, m.Close(t.Context()))
	})
}
