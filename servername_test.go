package steady_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
)

// The server's own name before a tool's carries no meaning, and Wrap knows it,
// also where no handshake passes that it could be learned from.
func TestWrapLearnsTheServersName(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		server := mcp.NewServer(&mcp.Implementation{Name: "zebrafinch", Version: "v1.0.0"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "read_note"}, readNothing) // does not say that it only reads
		_, err := steady.Wrap(server, &steady.Options{Observer: observe.Discard})
		require.NoError(t, err)
		require.Empty(t, sessionsOf(server), "the handshake leaves nothing behind")
		res := call(t, mcptest.Connect(t, server, revision), "zebrafinch_read_note", nil)
		require.False(t, res.IsError, "%s: %s", revision, mcptest.Text(res))
	}
}

func sessionsOf(server *mcp.Server) (all []*mcp.ServerSession) {
	for ss := range server.Sessions() {
		all = append(all, ss)
	}
	return all
}
