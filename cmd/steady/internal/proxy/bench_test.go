package proxy

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/proxytest"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// BenchmarkRoundTrip calls a tool of a server on the SDK with 1 kB there and
// back, in turns directly and through the proxy, and reports the ratio of the
// medians.
func BenchmarkRoundTrip(b *testing.B) {
	steady := filepath.Join(b.TempDir(), "steady")
	out, err := exec.Command("go", "build", "-o", steady, "github.com/steadymcp/steady/cmd/steady").CombinedOutput()
	require.NoError(b, err, "%s", out)
	b.Run("stdio", func(b *testing.B) {
		start := func(args ...string) mcp.Transport {
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env = append(os.Environ(), "STEADY_PROXY_SERVER=sdk")
			return &mcp.CommandTransport{Command: cmd}
		}
		compare(b, "", start(os.Args[0]), start(steady, "proxy", "--", os.Args[0]))
	})
	for _, revision := range []string{"2025-11-25", rpc.Stateless} {
		b.Run("http/"+revision, func(b *testing.B) {
			direct := listening(b, os.Args[0])
			through := listening(b, steady, "proxy", "-listen", "localhost:0", "-http", direct)
			compare(b, revision, &mcp.StreamableClientTransport{Endpoint: direct}, &mcp.StreamableClientTransport{Endpoint: through})
		})
	}
}

// listening starts a program that serves HTTP, and returns where.
func listening(b *testing.B, args ...string) string {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "STEADY_PROXY_SERVER=sdk-http")
	stderr, err := cmd.StderrPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(b, err)
	_, url, ok := strings.Cut(strings.TrimSpace(line), "listening at ")
	require.True(b, ok, line)
	return url
}

// compare reports how long a call takes over each transport.
func compare(b *testing.B, revision string, direct, through mcp.Transport) {
	params := &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": strings.Repeat("x", 1000)}}
	calls := make([]func() error, 2)
	for i, t := range []mcp.Transport{direct, through} {
		client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		session, err := client.Connect(b.Context(), t, &mcp.ClientSessionOptions{ProtocolVersion: revision})
		require.NoError(b, err)
		b.Cleanup(func() { _ = session.Close() })
		calls[i] = func() error {
			_, err := session.CallTool(b.Context(), params)
			return err
		}
	}
	times := proxytest.InTurns(b, calls...)
	b.ReportMetric(float64(times[0].Microseconds()), "direct-us")
	b.ReportMetric(float64(times[1].Microseconds()), "proxy-us")
	b.ReportMetric(float64(times[1])/float64(times[0]), "ratio")
}

// A stream of small messages in both directions takes no memory: 50 MB, or 1 GB
// with STEADY_LONG=1.
func TestStream(t *testing.T) {
	total := 50 << 20
	if os.Getenv("STEADY_LONG") != "" {
		total = 1 << 30
	}
	s := open(t, nil)
	require.NoError(t, s.in.SetDeadline(time.Now().Add(10*time.Minute)))
	s.out = bufio.NewReaderSize(s.out, 1<<20)
	s.send(callTo(1, "stream"))
	s.receive()
	line := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}` + "\n"
	go func() {
		block := strings.Repeat(line, 1000)
		for sent := 0; sent < total; sent += len(block) {
			if _, err := io.WriteString(s.in, block); err != nil {
				return
			}
		}
		_ = s.in.Close()
	}()
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early, late uint64
	received := 0
	for {
		got, err := s.out.ReadSlice('\n')
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if string(got) != line { // require would take most of the time
			require.Equal(t, line, string(got))
		}
		if received += len(got); early == 0 && received > total/10 {
			early = live()
		} else if late == 0 && received > total/10*9 {
			late = live()
		}
	}
	require.GreaterOrEqual(t, received, total)
	require.Less(t, late, early+1<<20)
	t.Logf("%d MB in lines of %d bytes: %d kB in use after a tenth, %d kB after nine", received>>20, len(line), early>>10, late>>10)
}
