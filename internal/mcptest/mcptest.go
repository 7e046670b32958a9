// Package mcptest connects a client to a server in memory. Only test files
// import it.
package mcptest

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The two protocol revisions that every behaviour is tested under: the last
// one with a handshake, and the first one without.
const (
	Handshake = "2025-11-25"
	Stateless = "2026-07-28"
)

// Revisions lists both, for table tests.
var Revisions = []string{Handshake, Stateless}

// Server returns an empty server named "test".
func Server() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "test", Version: "v0.0.1"}, nil)
}

// Connect connects a new client to server over the in-memory transport, at
// the given protocol revision ("" means the latest). Both ends are closed when
// the test ends.
func Connect(t testing.TB, server *mcp.Server, revision string) *mcp.ClientSession {
	t.Helper()
	return ConnectClient(t, server, mcp.NewClient(&mcp.Implementation{Name: "testclient", Version: "v0.0.1"}, nil), revision)
}

// ConnectClient is Connect with a client of the caller's.
func ConnectClient(t testing.TB, server *mcp.Server, client *mcp.Client, revision string) *mcp.ClientSession {
	t.Helper()
	ctx := context.Background()
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	ss, err := server.Connect(ctx, serverEnd, nil)
	if err != nil {
		t.Fatalf("connecting the server: %v", err)
	}
	cs, err := client.Connect(ctx, clientEnd, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatalf("connecting the client: %v", err)
	}
	t.Cleanup(func() {
		_ = cs.Close()
		_ = ss.Wait()
	})
	return cs
}

// Text returns the text of every text block of a result, joined by newlines.
func Text(r *mcp.CallToolResult) string {
	var s string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			if s != "" {
				s += "\n"
			}
			s += t.Text
		}
	}
	return s
}
