package rivertasks_test

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
)

// A process that does not have a tool, or does not have it yet, leaves its runs to
// one that has.
func TestRunIsOfferedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		export := func(_ *tasks.Manager, s *mcp.Server) {
			tool(s, "export", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("done"), nil })
		}
		front := startReplica(t, dsn, &rivertasks.Options{Workers: rivertasks.NoWorkers}, eager, export)
		startReplica(t, dsn, nil, eager, func(*tasks.Manager, *mcp.Server) {})
		id := front.start("export", nil)
		require.Never(t, func() bool { return front.record(id).Status != tasks.Working || front.record(id).Worker != "" },
			1200*time.Millisecond, 50*time.Millisecond, "nobody can run it")
		startReplica(t, dsn, nil, eager, export)
		require.Equal(t, "done", textOf(front.result(id)))
		require.EqualValues(t, 1, front.record(id).Run, "it was never begun")
	})
}
