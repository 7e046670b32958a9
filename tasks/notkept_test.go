package tasks_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/tasks"
)

// Work that succeeded is not done again because its result cannot be kept.
func TestWorkWhoseResultIsNotKeptIsNotRunAgain(t *testing.T) {
	big := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 200_000)}}}
	odd := &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: make(chan int)}
	for name, c := range map[string]struct {
		result *mcp.CallToolResult
		policy tasks.Policy
		call   args
		held   time.Duration
	}{
		"too big, by key":            {big, tasks.Policy{}, args{"idempotency_key": "k"}, time.Hour},
		"too big, by identity":       {big, tasks.Policy{Identity: tasks.By(func(exportInput) string { return "i" })}, args{}, time.Hour},
		"too big, by arguments":      {big, tasks.Policy{}, args{}, time.Minute},
		"too big, as a task":         {big, tasks.Policy{Grace: tasks.Eager}, args{"idempotency_key": "k"}, time.Hour},
		"cannot be encoded, by key":  {odd, tasks.Policy{}, args{"idempotency_key": "k"}, time.Hour},
		"cannot be encoded, as task": {odd, tasks.Policy{Grace: tasks.Eager}, args{"idempotency_key": "k"}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newManager(t, tasks.Options{Store: tasks.NewMemoryStore(&tasks.MemoryOptions{MaxBytes: 100_000}),
					Policies: map[string]tasks.Policy{"export": c.policy}})
				server := mcptest.Server()
				require.NoError(t, m.Install(server))
				runs := 0
				server.AddTool(&mcp.Tool{Name: "export", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					runs++
					return c.result, nil
				})
				cs := mcptest.Connect(t, server, "")
				first, err := call(t.Context(), cs, "export", c.call)
				if c.result == odd && c.policy.Grace == 0 {
					require.NoError(t, err)
					require.Contains(t, mcptest.Text(first), "The work was done")
				}
				synctest.Wait()
				for _, after := range []time.Duration{0, time.Second, c.held - 2*time.Second} {
					time.Sleep(after)
					res, err := call(t.Context(), cs, "export", c.call)
					require.NoError(t, err)
					require.True(t, res.IsError)
					require.Contains(t, mcptest.Text(res), "The work was done")
					require.Equal(t, "never", res.Meta["steady/error"].(map[string]any)["retry"])
					require.Equal(t, 1, runs)
					got, err := call(t.Context(), cs, "task_result", args{"task_id": taskID(t, res)})
					require.NoError(t, err)
					require.Contains(t, mcptest.Text(got), "The work was done")
				}
				time.Sleep(time.Second)
				_, _ = call(t.Context(), cs, "export", c.call)
				synctest.Wait()
				require.Equal(t, 2, runs, "the time is over")
				require.NoError(t, m.Close(t.Context()))
			})
		})
	}
}

// A failure that cannot be kept is still a failure: the next call runs.
func TestFailureThatIsNotKeptLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, tasks.Options{Store: tasks.NewMemoryStore(&tasks.MemoryOptions{MaxBytes: 100_000}),
			Policies: map[string]tasks.Policy{"export": {}}})
		server := mcptest.Server()
		require.NoError(t, m.Install(server))
		runs := 0
		mcp.AddTool(server, &mcp.Tool{Name: "export"}, func(context.Context, *mcp.CallToolRequest, exportInput) (*mcp.CallToolResult, any, error) {
			runs++
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 200_000)}}}, nil, nil
		})
		cs := mcptest.Connect(t, server, "")
		for range 2 {
			res, err := call(t.Context(), cs, "export", args{"idempotency_key": "k"})
			require.NoError(t, err)
			require.True(t, res.IsError)
		}
		require.Equal(t, 2, runs)
		require.NoError(t, m.Close(t.Context()))
	})
}
