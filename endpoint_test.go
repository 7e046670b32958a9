package steady_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/stdioguard"
)

// noteServer has a tool that runs do.
func noteServer(do func(context.Context) string) *mcp.Server {
	server := mcptest.Server()
	mcp.AddTool(server, &mcp.Tool{Name: "read_note", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: do(ctx)}}}, nil, nil
		})
	return server
}

func readNothing(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
	return nil, nil, nil
}

func theNote(context.Context) string { return "the note" }

func same(server *mcp.Server) func(*http.Request) *mcp.Server {
	return func(*http.Request) *mcp.Server { return server }
}

// serve serves an endpoint, on a server that configure may change, until the
// test ends.
func serve(t *testing.T, get func(*http.Request) *mcp.Server, opts *steady.HTTPOptions, configure func(*http.Server)) (*steady.Endpoint, string) {
	t.Helper()
	if opts == nil {
		opts = &steady.HTTPOptions{}
	}
	if opts.Observer == nil {
		opts.Observer = observe.Discard
	}
	endpoint, err := steady.Handler(get, opts)
	require.NoError(t, err)
	web := httptest.NewUnstartedServer(endpoint)
	if configure != nil {
		configure(web.Config)
	}
	web.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = endpoint.Shutdown(ctx)
		web.CloseClientConnections()
		web.Close()
	})
	return endpoint, web.URL
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// post sends a body as a client of the older era does.
func post(t *testing.T, url string, body io.Reader, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(text)
}

func TestEndpointServesBothEras(t *testing.T) {
	t.Parallel()
	_, url := serve(t, same(noteServer(theNote)), nil, nil)
	for _, revision := range mcptest.Revisions {
		cs := connectTo(t, url, revision)
		require.Equal(t, revision, cs.InitializeResult().ProtocolVersion)
		require.Equal(t, "the note", mcptest.Text(call(t, cs, "read_note", nil)))
	}
}

// A body that is too large is refused in words, and a client goes on.
func TestEndpointRefusesLargeBodies(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	_, url := serve(t, same(noteServer(theNote)), &steady.HTTPOptions{MaxBody: 10_000, Observer: seen}, nil)
	for _, revision := range mcptest.Revisions {
		cs := connectTo(t, url, revision)
		_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_note", Arguments: map[string]any{"text": strings.Repeat("x", 20_000)}})
		require.ErrorContains(t, err, "larger than the 10000 bytes that this server takes", revision)
		require.Equal(t, "the note", mcptest.Text(call(t, cs, "read_note", nil)), "the session goes on")
		require.Equal(t, []string{"steady.turned_away"}, seen.take())
	}
	// Without a length in advance.
	response, body := post(t, url, io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":7,`), bytes.NewReader(make([]byte, 20_000))))
	require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
	require.Contains(t, body, "10000 bytes")
}

// slowly writes text a byte at a time, until the other side answers.
func slowly(t *testing.T, conn net.Conn, text string) (answer string, took time.Duration) {
	t.Helper()
	start := time.Now()
	got := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(conn)
		got <- string(all)
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case answer := <-got:
			return answer, time.Since(start)
		case <-tick.C:
			_, _ = conn.Write([]byte{text[min(i, len(text)-1)]})
		case <-time.After(30 * time.Second):
			t.Fatal("the server waits for ever")
		}
	}
}

func TestEndpointRefusesSlowBodies(t *testing.T) {
	t.Parallel()
	_, url := serve(t, same(noteServer(theNote)), &steady.HTTPOptions{BodyTimeout: 100 * time.Millisecond}, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
	require.NoError(t, err)
	answer, _ := slowly(t, conn, "{")
	require.Contains(t, answer, "408 Request Timeout")
	require.Contains(t, answer, "did not arrive within 100ms")
}

// The deadlines of an http.Server are for a whole request. They do not end a
// call or a stream here.
func TestEndpointOutlivesDeadlinesOfTheServer(t *testing.T) {
	t.Parallel()
	const deadline = 300 * time.Millisecond
	server := noteServer(func(ctx context.Context) string {
		select {
		case <-time.After(3 * deadline):
			return "the note"
		case <-ctx.Done():
			return "cancelled"
		}
	})
	_, url := serve(t, same(server), nil, func(s *http.Server) { s.ReadTimeout, s.WriteTimeout = deadline, deadline })
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			changed := make(chan struct{}, 10)
			client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
			})
			// One connection and no second try, so that a stream that broke is missed.
			cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
			require.NoError(t, err)
			defer cs.Close()
			require.Equal(t, "the note", mcptest.Text(call(t, cs, "read_note", nil)))
			if revision == mcptest.Stateless {
				return // this client has no stream of its own there
			}
			server.AddTool(&mcp.Tool{Name: "another", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
			select {
			case <-changed:
			case <-time.After(10 * time.Second):
				t.Fatal("the stream is gone")
			}
		})
	}
}

// A client that does not read is not waited for.
func TestEndpointLeavesClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	endpoint, url := serve(t, same(noteServer(func(context.Context) string { return strings.Repeat("x", 16<<20) })),
		&steady.HTTPOptions{WriteTimeout: 200 * time.Millisecond}, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: read_note\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
	first, err := bufio.NewReaderSize(conn, 64).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, first, "200 OK")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, endpoint.Shutdown(ctx))
}

func TestEndpointHealth(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	endpoint, url := serve(t, same(noteServer(func(context.Context) string { <-release; return "the note" })), nil, nil)
	health := func() int {
		w := httptest.NewRecorder()
		endpoint.Health(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		return w.Code
	}
	require.Equal(t, http.StatusOK, health())

	cs := connectTo(t, url, mcptest.Stateless)
	answer := make(chan error, 1)
	go func() {
		_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "read_note"})
		answer <- err
	}()
	stopped := make(chan error, 1)
	go func() { stopped <- endpoint.Shutdown(context.Background()) }()
	require.Eventually(t, func() bool { return health() == http.StatusServiceUnavailable }, 10*time.Second, time.Millisecond)
	response, body := post(t, url, strings.NewReader(initialize))
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"the server is shutting down; call again in a moment"}}`, body)
	response, _ = post(t, url, strings.NewReader("["+initialize+"]"))
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode, "a batch")
	close(release)
	require.NoError(t, <-stopped)
	<-answer // it may have come before the shutdown, or after
	require.NoError(t, endpoint.Shutdown(t.Context()), "again")
}

// Nobody waits for a call that is still on its way when the endpoint shuts down; it
// is refused when it has come.
func TestEndpointDoesNotWaitForBodies(t *testing.T) {
	t.Parallel()
	endpoint, url := serve(t, same(noteServer(theNote)), nil, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(initialize))
	require.NoError(t, err)
	answer := bufio.NewReader(conn)
	line, err := answer.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue", "the endpoint reads the body")
	require.NoError(t, endpoint.Shutdown(context.Background()))
	_, err = conn.Write([]byte(initialize))
	require.NoError(t, err)
	rest, err := io.ReadAll(answer)
	require.NoError(t, err)
	require.Contains(t, string(rest), "503 Service Unavailable")
}

// While an endpoint shuts down, a client can still answer what a call asks.
func TestEndpointTakesAnswersWhileItShutsDown(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	server := mcptest.Server()
	mcp.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Really?", RequestedSchema: json.RawMessage(`{"type":"object"}`)})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: res.Action}}}, nil, nil
	})
	endpoint, url := serve(t, same(server), nil, nil)
	stopped := make(chan error, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			close(asked)
			require.Eventually(t, func() bool {
				response, _ := post(t, url, strings.NewReader(initialize))
				return response.StatusCode == http.StatusServiceUnavailable
			}, 10*time.Second, 5*time.Millisecond)
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: mcptest.Revisions[0]})
	require.NoError(t, err)
	defer cs.Close()
	go func() {
		<-asked
		stopped <- endpoint.Shutdown(context.Background())
	}()
	require.Equal(t, "accept", mcptest.Text(call(t, cs, "ask", nil)))
	require.NoError(t, <-stopped)
}

func TestEndpointAbandons(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			release, running, cause := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			endpoint, url := serve(t, same(noteServer(func(ctx context.Context) string {
				close(running)
				<-ctx.Done()
				cause <- context.Cause(ctx)
				<-release
				return ""
			})), nil, nil)
			cs := connectTo(t, url, revision)
			go func() { _, _ = cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "read_note"}) }()
			<-running
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := endpoint.Shutdown(ctx)
			require.ErrorIs(t, err, stdioguard.ErrAbandoned)
			require.ErrorIs(t, <-cause, stdioguard.ErrShutdown)
			close(release)
		})
	}
}

func TestEndpointEndsIdleSessions(t *testing.T) {
	t.Parallel()
	_, url := serve(t, same(noteServer(theNote)), &steady.HTTPOptions{SessionTimeout: 50 * time.Millisecond}, nil)
	response, _ := post(t, url, strings.NewReader(initialize))
	session := response.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	require.Eventually(t, func() bool {
		time.Sleep(100 * time.Millisecond) // a request would be a sign of life
		response, _ := post(t, url, strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"ping"}`), "Mcp-Session-Id", session)
		return response.StatusCode == http.StatusNotFound
	}, 10*time.Second, time.Millisecond)
}

// A server for each request is built once for it, and every one is served.
func TestEndpointOfServersPerRequest(t *testing.T) {
	t.Parallel()
	var built atomic.Int64
	_, url := serve(t, func(*http.Request) *mcp.Server {
		n := built.Add(1)
		server := noteServer(func(context.Context) string { return fmt.Sprint("note ", n) })
		if _, err := steady.Wrap(server, &steady.Options{Observer: observe.Discard}); err != nil {
			t.Error(err)
		}
		return server
	}, nil, nil)
	cs := connectTo(t, url, mcptest.Stateless)
	before := built.Load()
	require.Equal(t, fmt.Sprint("note ", before+1), mcptest.Text(call(t, cs, "READ_NOTE", nil)))
	require.Equal(t, before+1, built.Load())

	cs = connectTo(t, url, mcptest.Revisions[0])
	note := mcptest.Text(call(t, cs, "read_note", nil))
	require.Equal(t, note, mcptest.Text(call(t, cs, "read_note", nil)), "a session stays with its server")

	_, url = serve(t, func(*http.Request) *mcp.Server { return nil }, nil, nil)
	response, _ := post(t, url, strings.NewReader(initialize))
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
	response, _ = post(t, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), "Mcp-Protocol-Version", "2026-07-28")
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
}
