package main

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/examples/internal/desk"
	"github.com/steadymcp/steady/internal/mcptest"
)

// program is the built example: the tests run what a reader runs.
var program string

func TestMain(m *testing.M) { mcptest.RunWithPrograms(m, map[string]*string{".": &program}) }

func connect(t *testing.T, transport mcp.Transport, revision string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "v1"}, nil)
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	require.Equal(t, revision, session.InitializeResult().ProtocolVersion)
	return session
}

// cancelThroughTheClient does one job end to end: cancel the oldest paid order.
func cancelThroughTheClient(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	found := callOK[found](t, session, "search_orders", map[string]any{"status": "paid", "limit": 1})
	require.Len(t, found.Items, 1)
	cancelled := callOK[cancelOutput](t, session, "cancel_order", map[string]any{"order_id": found.Items[0].OrderID})
	require.EqualValues(t, "cancelled", cancelled.Status)
	require.Equal(t, found.Items[0].TotalCents, cancelled.RefundCents)
	text := callRefused(t, session, "cancel_order", map[string]any{"order_id": "ORD-42"})
	require.Contains(t, text, "order ORD-42 cannot be cancelled")
}

func TestStdio(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(program)
			cmd.Stderr = os.Stderr
			cancelThroughTheClient(t, connect(t, &mcp.CommandTransport{Command: cmd}, revision))
		})
	}
}

func TestMany(t *testing.T) {
	t.Parallel()
	session := connect(t, &mcp.CommandTransport{Command: exec.Command(program, "-many")}, mcptest.Stateless)
	require.Equal(t, desk.ManyOrders, *callOK[found](t, session, "search_orders", nil).Total)
}

// TestPipedInput is what a shell does: the input ends before there is an answer.
func TestPipedInput(t *testing.T) {
	t.Parallel()
	const input = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"printf","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_order","arguments":{"order_id":"ORD-42"}}}
`
	for i := range 20 {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.Output()
		require.NoError(t, err)
		replies := strings.Split(strings.TrimSpace(string(out)), "\n")
		require.Len(t, replies, 2, "time %d", i+1)
		require.Contains(t, replies[0], `"id":1,`)
		require.Contains(t, replies[1], `"id":2,`)
		require.Contains(t, replies[1], `ORD-42`)
	}
}

// serve starts the program on HTTP and returns its address.
func serve(t *testing.T, args ...string) (url string, cmd *exec.Cmd) {
	t.Helper()
	cmd = exec.Command(program, append([]string{"-http", "localhost:0"}, args...)...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if m := serving.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
			break
		}
	}
	var drained sync.WaitGroup
	drained.Go(func() {
		for lines.Scan() {
			t.Log("server:", lines.Text())
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		drained.Wait()
		_ = cmd.Wait()
	})
	require.NotEmpty(t, url, "the server did not say where it serves")
	return url, cmd
}

var serving = regexp.MustCompile(`steady.serving url=(http://\S+)`)

func TestHTTP(t *testing.T) {
	t.Parallel()
	url, _ := serve(t)
	// One address, both eras.
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			cancelThroughTheClient(t, connect(t, &mcp.StreamableClientTransport{Endpoint: url}, revision))
		})
	}
}

func TestHTTPSurvivesPanic(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, "-bug", "panic")
	for _, revision := range mcptest.Revisions {
		session, other := connect(t, &mcp.StreamableClientTransport{Endpoint: url}, revision), connect(t, &mcp.StreamableClientTransport{Endpoint: url}, revision)
		text := callRefused(t, session, "get_order", map[string]any{"order_id": "ORD-13"})
		require.Contains(t, text, "internal error")
		require.NotContains(t, text, "nil pointer")
		callOK[orderOutput](t, session, "get_order", map[string]any{"order_id": "ORD-42"})
		callOK[orderOutput](t, other, "get_order", map[string]any{"order_id": "ORD-42"})
	}
}

func TestHTTPEndsOnSignal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM")
	}
	url, cmd := serve(t, "-export-takes", "1h")
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: url}, mcptest.Stateless)
	callOK[exportOutput](t, session, "start_export", nil)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	state, err := cmd.Process.Wait()
	require.NoError(t, err)
	require.Zero(t, state.ExitCode(), "an export that runs must not keep the process alive")
}

func TestHTTPFromAnotherSite(t *testing.T) {
	t.Parallel()
	const page = "http://localhost:6274"
	for _, c := range []struct {
		name, allow, method, origin string
		want                        int
	}{
		{"nobody is allowed", "", http.MethodPost, page, http.StatusForbidden},
		{"nobody is allowed, preflight", "", http.MethodOptions, page, http.StatusForbidden},
		{"another one is allowed", page, http.MethodPost, "http://evil.example", http.StatusForbidden},
		{"it is allowed, preflight", page, http.MethodOptions, page, http.StatusNoContent},
		{"it is allowed", page, http.MethodPost, page, http.StatusOK},
		{"no browser", "", http.MethodPost, "", http.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url, _ := serve(t, "-allow-origin", c.allow)
			r, err := http.NewRequestWithContext(t.Context(), c.method, url, strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
			require.NoError(t, err)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
				r.Header.Set("Sec-Fetch-Site", "cross-site")
			}
			response, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			defer response.Body.Close()
			require.Equal(t, c.want, response.StatusCode)
			if c.want == http.StatusForbidden {
				require.Empty(t, response.Header.Get("Access-Control-Allow-Origin"))
			}
		})
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-bug", "typo"}, `no bug "typo"; there are banner, bucket, child, heedless, leak, panic, print, refusal, unbounded, unordered`},
		{[]string{"-without", "typo"}, `no part "typo"; there are stdioguard, errors, discovery, limits, tasks, pagination, registry`},
		{[]string{"-catalog", "typo"}, `no catalog "typo"; there are tasks and endpoints`},
		{[]string{"-http", "localhost:0", "-allow-origin", "typo"}, "typo"},
		{[]string{"stray"}, `unexpected argument "stray"`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, program, c.args...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, 1, exit.ExitCode())
			require.Contains(t, stderr.String(), c.want)
			require.Empty(t, out)
		})
	}
}
