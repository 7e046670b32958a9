package main

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
)

// Two processes on one database: the one that writes an export is killed, and the
// other writes it. Whoever holds the handle need not know.
func TestExportOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "tasks.db") },
		"postgres": postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"-tasks", where(t), "-export-takes", "2s", "-grace", "50ms"}
			urlA, a := serve(t, args...)
			session := connect(t, &mcp.StreamableClientTransport{Endpoint: urlA}, mcptest.Stateless)
			export := map[string]any{"status": "paid"}
			handle := callTask(t, session, "export_orders", export)
			require.Equal(t, "working", handle.Status)

			urlB, b := serve(t, args...)
			require.NoError(t, a.Process.Kill())
			session = connect(t, &mcp.StreamableClientTransport{Endpoint: urlB}, mcptest.Stateless)
			require.Equal(t, handle.TaskID, callTask(t, session, "export_orders", export).TaskID, "the retry joins")
			written := callOK[exportedOutput](t, session, "task_result", map[string]any{"task_id": handle.TaskID})
			require.Positive(t, written.Rows)
			require.Equal(t, 1, callOK[exportsWrittenOutput](t, session, "exports_written", nil).Written)

			// So does one that both have ended before.
			require.NoError(t, b.Process.Kill())
			urlC, _ := serve(t, args...)
			session = connect(t, &mcp.StreamableClientTransport{Endpoint: urlC}, mcptest.Stateless)
			require.Equal(t, written, callOK[exportedOutput](t, session, "task_result", map[string]any{"task_id": handle.TaskID}))
			require.Zero(t, callOK[exportsWrittenOutput](t, session, "exports_written", nil).Written)
		})
	}
}

type taskHandle struct{ TaskID, Status string }

// callTask calls a tool that answers with the handle of a task.
func callTask(t *testing.T, session *mcp.ClientSession, name string, args map[string]any) taskHandle {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	require.NoError(t, err)
	content, _ := result.StructuredContent.(map[string]any)
	task, _ := content["task"].(map[string]any)
	require.NotNil(t, task, mcptest.Text(result))
	return taskHandle{task["taskId"].(string), task["status"].(string)}
}

// postgres starts a server that ends with the test.
func postgres(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("sh", "../../tasks/rivertasks/internal/pgserver/server.sh")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	late := time.AfterFunc(8*time.Minute, func() { _ = cmd.Process.Kill() }) // it may have to install one
	defer late.Stop()
	url, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "%s", &stderr)
	return strings.TrimSpace(url)
}
