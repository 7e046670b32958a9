package steady

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/steadymcp/steady/observe"
)

// begin runs a server on HTTP until stop is called, which returns what Run does.
func begin(t *testing.T, opts RunOptions) (url string, stop func() error) {
	t.Helper()
	serving, ended := make(chan string, 1), make(chan error, 1)
	opts.Addr, opts.NoSignals = "127.0.0.1:0", true
	opts.Observer = observe.Func(func(_ context.Context, e observe.Event) {
		if s, ok := e.(Serving); ok {
			serving <- s.URL
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "v0.0.1"}, nil)
	if _, err := Wrap(server, &Options{Observer: observe.Discard}); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- Run(ctx, server, &opts) }()
	return <-serving, func() error {
		cancel()
		return <-ended
	}
}

func TestRunHTTPEndsWithItsContext(t *testing.T) {
	before := goleak.IgnoreCurrent()
	url, stop := begin(t, RunOptions{Path: "/notes", HealthPath: "/alive"})
	require.True(t, strings.HasSuffix(url, "/notes"), url)

	client := &http.Client{Transport: &http.Transport{}}
	for path, want := range map[string]int{"/alive": http.StatusOK, "/notes": http.StatusBadRequest, "/": http.StatusNotFound} {
		response, err := client.Get(strings.TrimSuffix(url, "/notes") + path)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, response.Body)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, path)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client, MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	require.NoError(t, err)

	start := time.Now()
	require.NoError(t, stop())
	require.Less(t, time.Since(start), 4*time.Second, "a session that is open and idle holds nothing up")
	_ = session.Close()
	client.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

// A client that sends its header or a body a byte at a time is not waited for,
// wherever it knocks.
func TestRunHTTPLeavesSlowClients(t *testing.T) {
	url, stop := begin(t, RunOptions{headerTimeout: 100 * time.Millisecond, HTTP: &HTTPOptions{BodyTimeout: 100 * time.Millisecond}})
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	for _, begun := range []string{
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
		"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Write([]byte(begun))
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
		_, err = io.ReadAll(conn)
		require.NoError(t, err, "the server hangs up: %q", begun)
	}
	require.NoError(t, stop())
}
