package fleet

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// BenchmarkRoundTrip calls a tool of a server on the SDK with 1 kB there and back,
// in turns directly, through the proxy, and through the proxy with three other
// servers beside it. It reports the ratios of the medians.
func BenchmarkRoundTrip(b *testing.B) {
	steady := filepath.Join(b.TempDir(), "steady")
	out, err := exec.Command("go", "build", "-o", steady, "github.com/steadymcp/steady/cmd/steady").CombinedOutput()
	require.NoError(b, err, "%s", out)
	connect := func(args ...string) *mcp.ClientSession {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "STEADY_FLEET_SERVER=x")
		session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(b.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		require.NoError(b, err)
		b.Cleanup(func() { _ = session.Close() })
		return session
	}
	several := []string{steady, "proxy"}
	for _, name := range []string{"a", "b", "c", "d"} {
		several = append(several, "-server", name+"="+os.Args[0])
	}
	sessions := []*mcp.ClientSession{connect(os.Args[0]), connect(steady, "proxy", "--", os.Args[0]), connect(several...)}
	names := []string{"echo", "echo", "b_echo"}
	const batch = 20
	times := make([][]time.Duration, len(sessions))
	round := func() {
		for i, s := range sessions {
			began := time.Now()
			for range batch {
				_, err := s.CallTool(b.Context(), &mcp.CallToolParams{Name: names[i], Arguments: text{strings.Repeat("x", 1000)}})
				require.NoError(b, err)
			}
			times[i] = append(times[i], time.Since(began)/batch)
		}
	}
	for range 10 {
		round()
	}
	clear(times)
	for b.Loop() {
		round()
	}
	for i := range times {
		slices.Sort(times[i])
	}
	median := func(i int) float64 { return float64(times[i][len(times[i])/2]) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(0)/1e3, "direct-us")
	b.ReportMetric(median(1)/median(0), "proxy-ratio")
	b.ReportMetric(median(2)/median(0), "fleet-ratio")
}
