package main

import (
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// What the official suite compares: the server bare and hardened, in both eras.
func TestServer(t *testing.T) {
	for _, hardened := range []bool{false, true} {
		toolNames = nil
		server := newServer()
		handler := bothEras(server)
		if hardened {
			var err error
			handler, err = harden(server)
			require.NoError(t, err)
		}
		s := httptest.NewServer(handler)
		for _, revision := range []string{"2025-11-25", "2026-07-28"} {
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "v0.0.1"}, nil).Connect(t.Context(),
				&mcp.StreamableClientTransport{Endpoint: s.URL}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
			require.NoError(t, err)
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "test_simple_text"})
			require.NoError(t, err)
			require.Equal(t, "This is a simple text response for testing.", res.Content[0].(*mcp.TextContent).Text)
			list, err := cs.ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(list.Tools), len(toolNames))
			require.NoError(t, cs.Close())
		}
		s.CloseClientConnections()
		s.Close()
	}
}
