package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/proxytest"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// A site is a front with the tests' server behind it.
type site struct {
	*httptest.Server
	t     testing.TB
	front *Front
	log   *proxytest.Buffer
	seen  []string // lines that the stages were sent
	mu    sync.Mutex
}

// newSite serves the tests' server, or what is at url if that is not "".
func newSite(t testing.TB, url string, change func(*FrontOptions, *Options)) *site {
	t.Helper()
	s := &site{t: t, log: &proxytest.Buffer{}}
	opts := Options{Log: s.log, URL: url, StopWindow: time.Second, EOFWindow: time.Second}
	if url == "" {
		opts.Command, opts.Env = []string{os.Args[0]}, []string{"STEADY_PROXY_SERVER=1"}
	}
	fo := FrontOptions{Log: s.log, Alone: url != ""}
	if change != nil {
		change(&fo, &opts)
	}
	fo.Stage = func(ctx context.Context, in io.Reader, out io.Writer) error {
		one := opts
		one.In, one.Out = io.TeeReader(in, s), out
		return Run(ctx, one)
	}
	var err error
	s.front, err = NewFront(fo)
	require.NoError(t, err)
	s.Server = httptest.NewServer(s.front)
	t.Cleanup(func() {
		s.front.Shutdown(20 * time.Second)
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *site) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, strings.TrimSpace(string(b)))
	return len(b), nil
}

func (s *site) lines() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.seen, "\n")
}

// A caller is a client's session, or none.
type caller struct {
	*site
	session string
	header  http.Header
}

// do makes a request.
func (c *caller) do(ctx context.Context, method, body string) *http.Response {
	c.t.Helper()
	resp, err := c.try(ctx, method, body)
	require.NoError(c.t, err)
	return resp
}

func (c *caller) try(ctx context.Context, method, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.URL, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	for name, values := range c.header {
		if req.Header[name] = values; name == "Host" {
			req.Host = values[0]
		}
	}
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	return c.Client().Do(req)
}

// post posts a message, and returns what is answered: the status, and the lines.
func (c *caller) post(body string) (int, []string) {
	c.t.Helper()
	resp := c.do(c.t.Context(), http.MethodPost, body)
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	return resp.StatusCode, linesOf(c.t, resp)
}

// linesOf returns the messages of a response.
func linesOf(t testing.TB, resp *http.Response) []string {
	t.Helper()
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return []string{string(body)}
	}
	var lines []string
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
			lines = append(lines, data)
		}
	}
	return lines
}

// begin begins a session.
func (s *site) begin() *caller {
	s.t.Helper()
	c := &caller{site: s}
	status, lines := c.post(initialize)
	require.Equal(s.t, http.StatusOK, status, lines)
	status, _ = c.post(initialized)
	require.Equal(s.t, http.StatusAccepted, status)
	return c
}

// modern makes a message of the era without sessions, and the caller for it.
func (s *site) modern(id, method, name, more string) (*caller, string) {
	c := &caller{site: s, header: http.Header{"Mcp-Protocol-Version": {rpc.Stateless}, "Mcp-Method": {method}}}
	if name != "" {
		c.header.Set("Mcp-Name", name)
	}
	return c, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"name":%q,"_meta":{"io.modelcontextprotocol/protocolVersion":%q%s}}}`, id, method, name, rpc.Stateless, more)
}

func TestSessionsOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", nil)
	c := s.begin()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"é\u00e9","method":"no/such","params":[1, 2.0e0],"more":{"a":"\ud83d\ude00"}}`,
		`{"id":1.0,"params":{"id":9,"method":"x"},"method":"tools/list","jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"x/` + strings.Repeat("y", 200<<10) + `"}`,
	} {
		status, lines := c.post(line)
		id := string(member([]byte(line), "id"))
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, []string{fmt.Sprintf(`{ "jsonrpc":"2.0", "id":%s, "unknown": 1e2, "result":{"line":%q} }`, id, line)}, lines)
	}
	_, lines := c.post("{\n\t\"jsonrpc\": \"2.0\",\r\n \"id\": 5, \"method\": \"x\"}\n")
	require.Contains(t, lines[0], `\"id\": 5`)

	_, lines = c.post(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":"p"}}}`)
	require.Len(t, lines, 4)
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":2,"progressToken":"p"}}`, lines[2])
	require.Contains(t, lines[3], `"done":true`)

	// What the server asks goes to the request that is there, and the answer back.
	_, lines = c.post(callTo(7, "ask"))
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`, lines[0])
	status, _ := c.post(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`)
	require.Equal(t, http.StatusAccepted, status)
	// There was no request that its notification could go to: it waits for a stream.
	require.Eventually(t, func() bool { return strings.Contains(s.lines(), "accept") }, 10*time.Second, time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	resp := c.do(ctx, http.MethodGet, "")
	in := bufio.NewScanner(resp.Body)
	for in.Scan() && !strings.HasPrefix(in.Text(), "data: ") {
	}
	require.Contains(t, in.Text(), "notifications/answered")
	require.Equal(t, http.StatusConflict, c.do(t.Context(), http.MethodGet, "").StatusCode)
	stop()

	other := &caller{site: s, session: "nobody's"}
	status, _ = other.post(callTo(1, "echo"))
	require.Equal(t, http.StatusNotFound, status)
	other.session = ""
	status, lines = other.post(callTo(1, "echo"))
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, lines[0], `"id":1,"error":{"code":-32600`)

	require.Equal(t, http.StatusNoContent, c.do(t.Context(), http.MethodDelete, "").StatusCode)
	status, _ = c.post(callTo(8, "echo"))
	require.Equal(t, http.StatusNotFound, status)
	require.Eventually(t, func() bool {
		s.front.mu.Lock()
		defer s.front.mu.Unlock()
		return s.front.live == 0
	}, 10*time.Second, time.Millisecond, "the server ends with the session")
}

func TestNoSessionsOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", nil)
	// The same id at the same time is no other's.
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			name := fmt.Sprintf("echo-%d", i)
			c, line := s.modern(`"é\u00e9"`, "tools/call", name, "")
			resp, err := c.try(t.Context(), http.MethodPost, line)
			if err == nil {
				body, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if !strings.Contains(string(body), `"id":"é\u00e9", "unknown": 1e2`) || !strings.Contains(string(body), name+`\"`) {
					t.Errorf("%s", body)
				}
			} else {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c, line := s.modern("1", "tools/call", "progress", `,"progressToken":"mine"`)
	_, lines := c.post(line)
	require.Len(t, lines, 4)
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":"mine"}}`, lines[1])
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{"done":true}}`, lines[3])

	// What says of no request that it belongs to it is for nobody.
	for range 2 {
		c, line = s.modern("2", "tools/call", "note", "")
		_, lines = c.post(line)
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":2,"result":{}}`}, lines)
	}
	require.Equal(t, 1, strings.Count(s.log.String(), "notifications/message"))
	c, line = s.modern("3", "tools/call", "ask", "")
	_, lines = c.post(line)
	require.Equal(t, []string{`{"jsonrpc":"2.0","id":3,"result":{}}`}, lines)
	require.Eventually(t, func() bool { return strings.Contains(s.lines(), `"id":1,"error":{"code":-32601`) }, 10*time.Second, time.Millisecond)

	// A subscription, and its end by its client's.
	ctx, stop := context.WithCancel(t.Context())
	c, line = s.modern(`"sub"`, methodListen, "", "")
	resp := c.do(ctx, http.MethodPost, line)
	in := bufio.NewScanner(resp.Body)
	for _, want := range []string{"acknowledged", "list_changed"} {
		for in.Scan() && !strings.HasPrefix(in.Text(), "data: ") {
		}
		require.Contains(t, in.Text(), want)
		require.Contains(t, in.Text(), `subscriptionId":"sub"}`)
	}
	stop()
	require.Eventually(t, func() bool { return strings.Contains(s.lines(), "notifications/cancelled") }, 10*time.Second, time.Millisecond)

	c, line = s.modern("4", "tools/call", "echo", "")
	for name, want := range map[string]int{"Mcp-Protocol-Version": -32020, "Mcp-Method": -32020, "Mcp-Name": -32020} {
		c.header = c.header.Clone()
		had := c.header.Get(name)
		c.header.Del(name)
		status, lines := c.post(line)
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, lines[0], fmt.Sprintf(`"id":4,"error":{"code":%d`, want))
		c.header.Set(name, had)
	}
	require.Equal(t, http.StatusMethodNotAllowed, c.do(t.Context(), http.MethodGet, "").StatusCode)
	// Nobody passes another's id for one of his own.
	for _, with := range []string{`{"id":1,`, `{"ID":1,`, `{"\u0069d":1,`} {
		status, lines := c.post(strings.Replace(line, "{", with, 1))
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, lines[0], "twice")
	}
}

// Who sends an Authorization has a server with nobody else: what is kept there for
// him, nobody else can find.
func TestPrincipalsWithoutSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", func(fo *FrontOptions, _ *Options) { fo.MaxSessions = 2 })
	call := func(authorization ...string) (int, string) {
		c, line := s.modern("1", "tools/call", "echo", "")
		c.header["Authorization"] = authorization
		status, lines := c.post(line)
		return status, lines[0]
	}
	// The server echoes what it was sent, under the id that counts its requests.
	for _, one := range []struct {
		authorization []string
		nth           int
	}{{nil, 1}, {[]string{"Bearer a"}, 1}, {[]string{"Bearer b"}, 1}, {nil, 2}, {[]string{"Bearer a"}, 2}} {
		status, line := call(one.authorization...)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, line, fmt.Sprintf(`\"id\":%d,`, one.nth))
	}
	status, line := call("Bearer c")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, line, "2 sessions")
	require.NotContains(t, s.lines(), "Bearer")
}

// A server that is killed in the middle of a call is a clear answer, and the
// next call works.
func TestServerKilledOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", nil)
	c := s.begin()
	_, lines := c.post(callTo(1, "die"))
	require.Contains(t, lines[0], "whether the call has done its work is not known")
	_, lines = c.post(callTo(2, "echo"))
	require.Contains(t, lines[0], `"unknown": 1e2`)

	m, line := s.modern("3", "tools/call", "echo", "")
	_, lines = m.post(line)
	require.Contains(t, lines[0], `"unknown": 1e2`)
	m, line = s.modern("3", "tools/call", "die", "")
	_, lines = m.post(line)
	require.Contains(t, lines[0], `"resultType":"complete"`)
	require.Contains(t, lines[0], "whether the call has done its work is not known")
	m, line = s.modern("4", "tools/call", "echo", "")
	_, lines = m.post(line)
	require.Contains(t, lines[0], `"unknown": 1e2`)
}

func TestServerThatCannotBeStartedOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", func(_ *FrontOptions, o *Options) { o.Command = []string{"./no/such/program"} })
	_, lines := (&caller{site: s}).post(initialize)
	require.Contains(t, lines[0], `"id":0,"error":{"code":-32000`)
	require.NotContains(t, lines[0], "no/such")
	require.Contains(t, s.log.String(), "no/such")
	c, line := s.modern("1", "tools/list", "", "")
	_, lines = c.post(line)
	require.Contains(t, lines[0], `"id":1,"error":{"code":-32000`)
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", func(f *FrontOptions, _ *Options) { f.MaxBody, f.MaxBodies, f.MaxSessions = 20<<10, 4<<10, 1 })
	c := s.begin()
	for _, test := range []struct {
		name   string
		header http.Header
		body   string
		status int
		says   string
	}{
		{"type", http.Header{"Content-Type": {"text/plain"}}, callTo(1, "echo"), 415, "Content-Type"},
		{"accept", http.Header{"Accept": {"application/json"}}, callTo(1, "echo"), 400, "Accept"},
		{"host", http.Header{"Host": {"evil.example"}}, callTo(1, "echo"), 403, "Host"},
		{"origin", http.Header{"Origin": {"https://evil.example"}}, callTo(1, "echo"), 403, ""},
		{"size", nil, `{"jsonrpc":"2.0","id":1,"method":"x","params":"` + strings.Repeat("x", 30<<10) + `"}`, 413, `"id":1,"error":{"code":-32600`},
		{"json", nil, `{"jsonrpc":"2.0","id":1,"method":"x",}`, 400, `"id":1,"error":{"code":-32700`},
		{"empty", nil, ``, 400, `{"jsonrpc":"2.0","error":{"code":-32700`},
		{"together", nil, `{"jsonrpc":"2.0","id":1,"method":"x","params":"` + strings.Repeat("x", 19<<10) + `"}`, 503, `"id":1,"error":{"code":-32000`},
		{"version", http.Header{"Mcp-Protocol-Version": {"1999-01-01"}}, callTo(1, "echo"), 400, "1999"},
		{"session", http.Header{"Mcp-Session-Id": nil}, initialize, 503, "1 sessions open"},
		{"method", nil, "", 405, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			one := &caller{site: s, session: c.session, header: test.header}
			if test.name == "session" {
				one.session = ""
			}
			if test.name == "together" { // there are others
				s.front.bodies.Add(3 << 10)
				defer s.front.bodies.Add(-3 << 10)
			}
			method := http.MethodPost
			if test.status == http.StatusMethodNotAllowed {
				method = http.MethodPut
			}
			resp := one.do(t.Context(), method, test.body)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, test.status, resp.StatusCode, "%s", body)
			require.Contains(t, string(body), test.says)
		})
	}
	require.Zero(t, s.front.bodies.Load())
	status, lines := c.post(callTo(2, "echo"))
	require.Equal(t, http.StatusOK, status, "the session goes on: %s", lines)
}

func TestShutdownOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", nil)
	c := s.begin()
	slow := make(chan []string)
	go func() {
		resp, err := c.try(t.Context(), http.MethodPost, callTo(1, "slow"))
		if err != nil {
			close(slow)
			return
		}
		slow <- linesOf(t, resp)
	}()
	require.Eventually(t, func() bool { return strings.Contains(s.lines(), "slow") }, 10*time.Second, time.Millisecond)
	ended := make(chan struct{})
	go func() {
		s.front.Shutdown(20 * time.Second)
		close(ended)
	}()
	require.Eventually(t, s.front.isDraining, 10*time.Second, time.Millisecond)
	status, lines := c.post(callTo(2, "echo"))
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, lines[0], `"id":2,"error":{"code":-32000,"message":"the server is shutting down; call again in a moment"`)
	w := httptest.NewRecorder()
	s.front.Health(w, nil)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, strings.Join(<-slow, ""), `"slow":true`)
	<-ended
}
