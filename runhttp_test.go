package steady

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/stdioguard"
	"github.com/steadymcp/steady/tasks"
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

// Where Run fails before it serves, it still ends what Wrap started, and leaves
// nothing behind.
func TestRunEndsWhatItCannotServe(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	// Standard input and output as they are when another guard has them.
	held, err := stdioguard.Guard(&stdioguard.Options{Observer: observe.Discard})
	require.NoError(t, err)
	defer held.Close()
	own, other := io.Pipe()
	before := goleak.IgnoreCurrent()
	var all sync.WaitGroup
	for name, c := range map[string]struct {
		opts RunOptions
		want string
	}{
		"a port that is taken":      {RunOptions{Addr: taken.Addr().String()}, "address already in use"},
		"a bad address":             {RunOptions{Addr: "8080"}, "localhost:8080"},
		"a bad path":                {RunOptions{Addr: "localhost:0", Path: "no slash"}, "no slash"},
		"one path for two":          {RunOptions{Addr: "localhost:0", Path: "/x", HealthPath: "/x"}, "/x"},
		"a bad origin":              {RunOptions{Addr: "localhost:0", HTTP: &HTTPOptions{AllowOrigins: []string{"example.com"}}}, `"example.com"`},
		"a bad bound":               {RunOptions{Addr: "localhost:0", HTTP: &HTTPOptions{MaxBody: -1}}, "negative"},
		"standard input is guarded": {RunOptions{}, "already guarded"},
		"two sets of options":       {RunOptions{Stdio: &stdioguard.Options{}, Guard: stdioguard.NewTransport(own, other, nil)}, "Stdio and Guard"},
	} {
		all.Go(func() {
			server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "v0.0.1"}, nil)
			running := make(chan struct{})
			mcp.AddTool(server, &mcp.Tool{Name: "export"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
				close(running)
				<-ctx.Done()
				return nil, nil, ctx.Err()
			})
			_, err := Wrap(server, &Options{Observer: observe.Discard, Tasks: &tasks.Options{
				Anonymous: true, Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager}},
			}})
			assert.NoError(t, err)
			// Another client has a task running in the same server.
			serverEnd, clientEnd := mcp.NewInMemoryTransports()
			ss, err := server.Connect(t.Context(), serverEnd, nil)
			assert.NoError(t, err)
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), clientEnd, nil)
			assert.NoError(t, err)
			_, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "export"})
			assert.NoError(t, err)
			<-running

			c.opts.NoSignals, c.opts.Observer = true, observe.Discard
			assert.ErrorContains(t, Run(t.Context(), server, &c.opts), c.want, name)
			assert.NoError(t, cs.Close())
			assert.NoError(t, ss.Wait())
		})
	}
	all.Wait()
	goleak.VerifyNone(t, before)
	_, err = own.Read(nil)
	require.ErrorIs(t, err, io.ErrClosedPipe, "Run closes the guard that it was given")
}

// A breakable listener has words of its own for its end.
type breakable struct{ net.Listener }

func (b breakable) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, errors.New("the listener is broken")
	}
	return conn, nil
}

// A listener that breaks ends Run in order: the call in flight is answered.
func TestRunHTTPEndsWithItsListener(t *testing.T) {
	before := goleak.IgnoreCurrent()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	release := make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "v0.0.1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "read_note"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		_ = listener.Close()
		<-release
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the note"}}}, nil, nil
	})
	draining := observe.Func(func(_ context.Context, e observe.Event) {
		if _, ok := e.(Draining); ok {
			close(release)
		}
	})
	o := RunOptions{NoSignals: true, Observer: draining, Path: DefaultPath, HealthPath: DefaultHealthPath, StopWindow: time.Minute, headerTimeout: time.Minute}
	endpoint, web, err := o.prepare(t.Context(), server)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		ended <- o.serveHTTP(t.Context(), server, endpoint, web, breakable{listener})
	}()
	client := &http.Client{Transport: &http.Transport{}}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: "http://" + listener.Addr().String() + DefaultPath, HTTPClient: client, MaxRetries: -1}, nil)
	require.NoError(t, err)
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_note"})
	require.NoError(t, err)
	require.Equal(t, "the note", res.Content[0].(*mcp.TextContent).Text)
	err = <-ended
	require.ErrorContains(t, err, "the listener is broken")
	require.NotErrorIs(t, err, stdioguard.ErrAbandoned)
	_ = cs.Close()
	client.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}
