//go:build unix

package stdioguard_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/mcptest"
)

// BenchmarkRoundTrip calls a tool of a server process over pipes, with the
// SDK's client: one server serves with the SDK's own StdioTransport, the other
// one with the guard. The client's share is the same in both.
// The allocations are the client's and say nothing.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"100B", 100}, {"10kB", 10_000}, {"1MB", 1_000_000}} {
		b.Run(size.name, func(b *testing.B) {
			stderr, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer stderr.Close()
			connect := func(h helper) *mcp.ClientSession {
				cmd := helperCommand(b, h)
				cmd.Stderr = stderr
				client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
				session, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = session.Close() })
				return session
			}
			params := &mcp.CallToolParams{Name: "typed", Arguments: map[string]any{"text": strings.Repeat("0123456789", size.bytes/10)}}
			call := func(session *mcp.ClientSession) func() {
				return func() {
					r, err := session.CallTool(context.Background(), params)
					if err != nil || r.IsError {
						b.Fatal(r, err)
					}
				}
			}
			mcptest.Compare(b, mcptest.Side{Name: "sdk", Do: call(connect(helper{SDK: true}))}, mcptest.Side{Name: "guard", Do: call(connect(helper{}))})
		})
	}
}
