package tasks_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/tasks"
)

func TestOneManagerPerServer(t *testing.T) {
	a, b := newManager(t, tasks.Options{}), newManager(t, tasks.Options{})
	server := mcptest.Server()
	require.NoError(t, a.Install(server))
	require.ErrorContains(t, b.Install(server), "a manager is installed")
	require.ErrorContains(t, a.Install(server), "a manager is installed")
	require.NoError(t, a.Install(mcptest.Server()), "another server")
}

func TestInstallReplacesNoTool(t *testing.T) {
	m := newManager(t, tasks.Options{})
	server := mcptest.Server()
	own := func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "own"}}}, nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "task_cancel"}, own)
	require.ErrorContains(t, m.Install(server), `"task_cancel"`)
	cs := mcptest.Connect(t, server, "")
	res, err := call(t.Context(), cs, "task_cancel", nil)
	require.NoError(t, err)
	require.Equal(t, "own", mcptest.Text(res))
	tools, err := cs.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, tools.Tools, 1, "nothing was installed")
	renamed := newManager(t, tasks.Options{ToolNames: tasks.ToolNames{Cancel: "stop_task"}})
	require.NoError(t, renamed.Install(server), "the one that failed left nothing behind")
}

// A server that is made for one request goes with it, whatever the manager does.
func TestInstalledServersAreForgotten(t *testing.T) {
	m := newManager(t, tasks.Options{})
	goroutines := runtime.NumGoroutine()
	const servers = 100
	gone := make(chan struct{}, servers)
	for range servers {
		server := mcptest.Server()
		require.NoError(t, m.Install(server))
		runtime.AddCleanup(server, func(c chan struct{}) { c <- struct{}{} }, gone)
	}
	for range servers - 1 { // the last one may serve a task that is run again
		for collected := false; !collected; {
			runtime.GC()
			select {
			case <-gone:
				collected = true
			case <-time.After(10 * time.Millisecond):
			case <-t.Context().Done():
				t.Fatal("the servers are kept")
			}
		}
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+2)
}
