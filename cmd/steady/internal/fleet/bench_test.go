package fleet

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/proxytest"
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
	calls := make([]func() error, len(sessions))
	for i, s := range sessions {
		calls[i] = func() error {
			_, err := s.CallTool(b.Context(), &mcp.CallToolParams{Name: names[i], Arguments: text{strings.Repeat("x", 1000)}})
			return err
		}
	}
	times := proxytest.InTurns(b, calls...)
	b.ReportMetric(float64(times[0].Nanoseconds())/1e3, "direct-us")
	b.ReportMetric(float64(times[1])/float64(times[0]), "proxy-ratio")
	b.ReportMetric(float64(times[2])/float64(times[0]), "fleet-ratio")
}
