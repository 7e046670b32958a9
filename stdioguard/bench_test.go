//go:build unix

package stdioguard_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkRoundTrip calls a tool of a server process over pipes, with the
// SDK's client: one server serves with the SDK's own StdioTransport, the other
// one with the guard. They take turns, so that whatever else the machine does
// happens to both; "ratio" is the median with the guard over the median
// without it. The client's share is the same in both.
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
			sessions := [2]*mcp.ClientSession{connect(helper{SDK: true}), connect(helper{})}
			params := &mcp.CallToolParams{Name: "typed", Arguments: map[string]any{"text": strings.Repeat("0123456789", size.bytes/10)}}
			var took [2][]float64
			round := func(turn int) {
				for i := range sessions {
					who := (i + turn) % 2
					begin := time.Now()
					r, err := sessions[who].CallTool(context.Background(), params)
					if err != nil || r.IsError {
						b.Fatal(r, err)
					}
					took[who] = append(took[who], float64(time.Since(begin)))
				}
			}
			for i := range 20 {
				round(i)
			}
			took = [2][]float64{}
			for i := 0; b.Loop(); i++ {
				round(i)
			}
			sdk, guard := median(took[0]), median(took[1])
			b.ReportMetric(guard/sdk, "ratio")
			b.ReportMetric(sdk/1e3, "sdk-µs")
			b.ReportMetric(guard/1e3, "guard-µs")
		})
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
