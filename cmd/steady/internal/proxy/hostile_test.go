package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
)

// eventStream begins a stream of events.
func eventStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
}

// Whatever an endpoint answers is bounded and answered clearly, and the next call
// works.
func TestHostileEndpoint(t *testing.T) {
	t.Parallel()
	const token = "tok-7777-secret"
	elsewhere := newWeb(t, nil)
	status := func(code int, body string, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	forever := func(before, repeated string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			eventStream(w)
			_, err := io.WriteString(w, before)
			for block := strings.Repeat(repeated, 1000); err == nil && r.Context().Err() == nil; {
				_, err = io.WriteString(w, block)
			}
		}
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string // expression for the answer
	}{
		"redirect":     {status(307, "", "Location", elsewhere.URL), `"code":-32000,"message":"The server redirects \(HTTP status 307\) to .* which is not followed`},
		"unauthorized": {status(401, "no "+token), `"code":-32000,.*HTTP status 401 Unauthorized.*Nothing was done.*-header`},
		"forbidden":    {status(403, ""), `"code":-32000,.*HTTP status 403 Forbidden.*Nothing was done`},
		"busy":         {status(429, "", "Retry-After", "7"), `"code":-32000,.*too busy.*Try again in 7 seconds`},
		"unavailable":  {status(503, "", "Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"), `"code":-32000,.*Try again after 2026-10-21T07:28:00Z`},
		"null id":      {status(503, `{"jsonrpc":"2.0","id":null,"error":{"code":-32099,"message":"later","data":1.50}}`), `^{"jsonrpc":"2.0","id":1,"error":{"code":-32099,"message":"later","data":1.50}}$`},
		"no id":        {status(400, `{"jsonrpc":"2.0","error":{"code":-32099,"message":"later"}}`), `^{"id":1,"jsonrpc":"2.0","error":{"code":-32099,"message":"later"}}$`},
		"failure":      {status(500, "<h1>panic in "+token+"</h1>"), `isError.*HTTP status 500|HTTP status 500.*isError`},
		"type":         {status(200, "<h1>Welcome</h1>", "Content-Type", "text/html"), `isError.*text/html|text/html.*isError`},
		"accepted":     {status(202, ""), `HTTP status 202.*isError`},
		"empty":        {status(200, ""), `isError`},
		"other":        {status(200, `{"jsonrpc":"2.0","method":"notifications/x"}`, "Content-Type", "application/json"), `it answered something else.*isError`},
		"not found":    {status(404, ""), `lost it again`},
		"large":        {status(200, `{"jsonrpc":"2.0","id":1,"result":"`+strings.Repeat("x", 100<<10)+`"}`, "Content-Type", "application/json"), `"code":-32603,"message":"The answer is too long`},
		"large event":  {status(200, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\""+strings.Repeat("x", 100<<10)+"\"}\n\n", "Content-Type", "text/event-stream"), `"code":-32603,"message":"The answer is too long`},
		"endless body": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			forever("", "x")(w, r)
		}, `.`},
		"endless line":  {forever("data: ", "x"), `a line has no end.*isError`},
		"endless event": {forever("", "data: x\n"), `.`},
		"no answer":     {status(200, ": nothing\n\n", "Content-Type", "text/event-stream"), `the stream ended without an answer.*isError`},
		"hang up": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_ = conn.Close()
		}, `the connection broke: EOF.*isError`},
		"goes on": {forever("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", ": more\n\n"), `"id":1,"result":{}`},
		"pretty":  {status(200, "\ufeffdata: {\"jsonrpc\":\"2.0\",\r\ndata:  \"id\":1,\ndata: \"result\":{}}\n\n", "Content-Type", "text/event-stream; charset=utf-8"), `"id":1, "result":{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWeb(t, map[string]http.HandlerFunc{"bad": test.answer})
			s := openWeb(t, w, func(o *Options) {
				o.MaxLine, o.Headers = 64<<10, http.Header{"Authorization": {"Bearer " + token}}
			})
			s.send(initialize)
			s.receive()
			s.send(initialized, callTo(1, "bad"))
			if name == "endless event" { // which there is no bound for but the caller's patience
				s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			} else {
				line := s.receive()
				if name == "other" { // which passes
					line = s.receive()
				}
				require.Contains(t, line, `"id":1`)
				require.Regexp(t, regexp.MustCompile(test.want), line)
				require.NotContains(t, line, token)
			}
			s.send(callTo(2, "echo"))
			require.Contains(t, s.receive(), `"id":2, "unknown"`)
			require.NotContains(t, s.log.String(), token)
			require.Empty(t, elsewhere.seen())
		})
	}
}

func TestSessionIDThatIsNone(t *testing.T) {
	t.Parallel()
	w := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Mcp-Session-Id", strings.Repeat("x", 2000))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)
	}))
	defer w.Close()
	s := openWeb(t, &web{Server: w}, nil)
	s.send(initialize)
	require.Contains(t, s.receive(), `"id":0,"error":{"code":-32000,"message":"The server's session id is longer`)
}

// A stream that breaks is taken up again where it broke, and that which belongs to
// no request is opened again.
func TestStreamsAreResumed(t *testing.T) {
	t.Parallel()
	w := newWeb(t, map[string]http.HandlerFunc{"long": func(w http.ResponseWriter, _ *http.Request) {
		eventStream(w)
		_, _ = io.WriteString(w, "id: post-1\nretry: 5\ndata: \n\n")
	}})
	var once sync.Once
	w.get = func(rw http.ResponseWriter, r *http.Request) {
		switch last := r.Header.Get("Last-Event-ID"); last {
		case "post-1":
			eventStream(rw)
			_, _ = io.WriteString(rw, "id: post-2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/half\"}\n\n")
		case "post-2":
			eventStream(rw)
			_, _ = io.WriteString(rw, "id: post-3\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
		case "":
			eventStream(rw)
			once.Do(func() {
				_, _ = io.WriteString(rw, "id: get-1\nretry: 5\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/first\"}\n\n")
			})
		case "get-1":
			eventStream(rw)
			_, _ = io.WriteString(rw, "id: get-2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/second\"}\n\n")
			rw.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}
	s := openWeb(t, w, nil)
	s.send(initialize)
	s.receive()
	s.send(initialized)
	require.Contains(t, s.receive(), "notifications/first")
	require.Contains(t, s.receive(), "notifications/second")
	s.send(callTo(1, "long"))
	require.Contains(t, s.receive(), "notifications/half")
	require.Contains(t, s.receive(), `"id":1,"result"`)
	require.Empty(t, s.log.String())
}

// Messages of the era without sessions have the headers that it wants.
func TestHeadersOfTheLaterEra(t *testing.T) {
	t.Parallel()
	headers := make(chan http.Header, 1)
	w := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		headers <- r.Header
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"weather","inputSchema":{"properties":{
			"city":{"type":"string","x-mcp-header":"City"},"days":{"type":"integer","x-mcp-header":"Days"},"deep":{"properties":{"yes":{"type":"boolean","x-mcp-header":"Yes"}}},"plain":{"type":"string"}}}}]}}`, member(body, "id"))
	}))
	defer w.Close()
	s := openWeb(t, &web{Server: w}, func(o *Options) { o.Headers = http.Header{"X-Mine": {"1"}, "Mcp-Method": {"not this"}} })
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	ask := func(method, params string) http.Header {
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, meta))
		s.receive()
		return <-headers
	}
	h := ask("tools/list", "")
	require.Equal(t, []string{"2026-07-28", "tools/list", "", "1", ""}, []string{h.Get("Mcp-Protocol-Version"), h.Get("Mcp-Method"), h.Get("Mcp-Name"), h.Get("X-Mine"), h.Get("Mcp-Session-Id")})
	h = ask("tools/call", `"name":"weather","arguments":{"city":"Zürich","days":3.0,"deep":{"yes":true},"plain":"x"},`)
	require.Equal(t, []string{"weather", "=?base64?WsO8cmljaA==?=", "3", "true"}, []string{h.Get("Mcp-Name"), h.Get("Mcp-Param-City"), h.Get("Mcp-Param-Days"), h.Get("Mcp-Param-Yes")})
	h = ask("resources/read", `"uri":"a:b c",`)
	require.Equal(t, "a:b c", h.Get("Mcp-Name"))
	h = ask("tasks/get", `"taskId":"t-1",`)
	require.Equal(t, "t-1", h.Get("Mcp-Name"))
}

// The end of the exchange is what cancels a request of the later era.
func TestCancelledRequestOfTheLaterEra(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan struct{})
	w := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		eventStream(w)
		close(begun)
		<-r.Context().Done()
		close(ended)
	}))
	defer w.Close()
	s := openWeb(t, &web{Server: w}, nil)
	s.send(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	<-begun
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	<-ended
}

func TestTLS(t *testing.T) {
	t.Parallel()
	w := newWeb(t, nil)
	safe := httptest.NewTLSServer(w)
	defer safe.Close()
	s := openWeb(t, &web{Server: safe}, nil)
	s.send(initialize)
	require.Contains(t, s.receive(), "certificate")
	trusting := NewClient()
	trusting.http.Transport = safe.Client().Transport
	s = openWeb(t, &web{Server: safe}, func(o *Options) { o.Client = trusting })
	s.send(initialize)
	require.Contains(t, s.receive(), "2025-11-25")
}

// A server that comes up late is waited for.
func TestEndpointThatComesUp(t *testing.T) {
	t.Parallel()
	w := newWeb(t, nil)
	late := httptest.NewUnstartedServer(w)
	addr := late.Listener.Addr().String()
	require.NoError(t, late.Listener.Close())
	s := openWeb(t, &web{Server: &httptest.Server{URL: "http://" + addr}}, nil)
	s.send(initialize)
	time.AfterFunc(200*time.Millisecond, func() {
		l, err := listenAt(addr)
		if err != nil {
			t.Error(err)
			return
		}
		late.Listener = l
		late.Start()
	})
	require.Contains(t, s.receive(), "2025-11-25")
	late.Close()
}

// Sixty-four sessions at once do not get in one another's way, and leave nothing
// behind.
func TestManySessions(t *testing.T) {
	t.Parallel()
	w := newWeb(t, nil)
	w.any = true
	for name, url := range map[string]string{"stdio": "", "http": w.URL} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, url, nil)
			var wg sync.WaitGroup
			for i := range 64 {
				wg.Go(func() {
					c := &caller{site: s}
					say := func(body string) string {
						resp, err := c.try(t.Context(), http.MethodPost, body)
						if err != nil {
							t.Error(err)
							return ""
						}
						defer resp.Body.Close()
						if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
							c.session = id
						}
						return strings.Join(linesOf(t, resp), "\n")
					}
					say(initialize)
					for n := range 3 {
						name := fmt.Sprintf("echo-%d-%d", i, n)
						if got := say(callTo(n, name)); !strings.Contains(got, name) {
							t.Errorf("%s: %s", name, got)
						}
					}
					resp, err := c.try(t.Context(), http.MethodDelete, "")
					if err != nil {
						t.Error(err)
						return
					}
					_ = resp.Body.Close()
				})
			}
			wg.Wait()
			require.Eventually(t, func() bool {
				s.front.mu.Lock()
				defer s.front.mu.Unlock()
				return s.front.live == 0 && len(s.front.sessions) == 0
			}, 20*time.Second, 10*time.Millisecond)
		})
	}
}

// Sessions, streams and requests that have ended, in whatever way, leave nothing.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		w := newWeb(t, map[string]http.HandlerFunc{
			"hang": func(w http.ResponseWriter, r *http.Request) { eventStream(w); <-r.Context().Done() },
			"bad":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) },
		})
		w.any = true
		w.get = w.answer["hang"]
		for _, url := range []string{w.URL, ""} {
			s := newSite(t, url, func(_ *FrontOptions, o *Options) {
				o.EOFWindow, o.StopWindow = 100*time.Millisecond, 100*time.Millisecond
			})
			for range 3 {
				c := s.begin()
				c.post(callTo(1, "echo"))
				c.post(callTo(2, "bad"))
				ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer stop()
				for method, body := range map[string]string{http.MethodPost: callTo(3, "hang"), http.MethodGet: ""} {
					if resp, err := c.try(ctx, method, body); err == nil {
						defer resp.Body.Close()
					}
				}
				m, line := s.modern("1", "tools/call", "hang", "")
				if resp, err := m.try(ctx, http.MethodPost, line); err == nil {
					defer resp.Body.Close()
				}
				<-ctx.Done()
			}
		}
	})
	// The processes end when they do. Eventually would be a goroutine itself.
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			require.Fail(t, "goroutines are left", "%s", stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// A client that does not read holds nobody up for long, and is given up.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	out := newReply(50*time.Millisecond, true)
	line := bytes.Repeat([]byte("x"), maxQueue)
	require.True(t, out.put("", line, false), "there is room for one, however long")
	require.False(t, out.put("", line, false))
	_, _, gone := out.take()
	require.True(t, gone)

	out = newReply(time.Minute, false)
	require.True(t, out.put("", line, false))
	put := make(chan bool)
	go func() { put <- out.put("", line, true) }()
	lines, last, _ := out.take()
	require.Len(t, lines, 1)
	require.False(t, last)
	require.True(t, <-put)
	require.False(t, out.put("", line, true), "there is nothing after the last")

	out = newReply(time.Minute, false)
	require.True(t, out.put("", line, false))
	go func() { put <- out.put("", line, true) }()
	out.leave()
	require.False(t, <-put)
}

// A long stream takes no memory with HTTP on both sides: 24 MB, or 1 GB with
// STEADY_LONG=1.
func TestStreamOverHTTP(t *testing.T) {
	total := 24 << 20
	if os.Getenv("STEADY_LONG") != "" {
		total = 1 << 30
	}
	event := "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"message\":\"" + strings.Repeat("x", 4000) + "\"}}\n\n"
	w := newWeb(t, map[string]http.HandlerFunc{"stream": func(w http.ResponseWriter, _ *http.Request) {
		eventStream(w)
		block := strings.Repeat(event, 100)
		for sent := 0; sent < total; sent += len(block) {
			_, _ = io.WriteString(w, block)
		}
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	}})
	s := newSite(t, w.URL, nil)
	c := s.begin()
	resp := c.do(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stream","_meta":{"progressToken":1}}}`)
	defer resp.Body.Close()
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var most uint64
	received, next := 0, total/10
	for buf := make([]byte, 64<<10); ; {
		n, err := resp.Body.Read(buf)
		received += n
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		if received > next {
			next += total / 10
			most = max(most, live())
		}
	}
	require.GreaterOrEqual(t, received, total)
	require.Less(t, most, uint64(16<<20))
	t.Logf("%d MB: %d MB in use at most", received>>20, most>>20)
}

// What an endpoint sends as events, and a listing of tools, is read within
// bounds, and what is changed in a line stays JSON.
func FuzzFromHTTP(f *testing.F) {
	f.Add([]byte("id: 1\nretry: 5\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":1}\n\n: x\nevent: message\ndata:\n\n"))
	f.Add([]byte("data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n\n"))
	f.Add([]byte(`{"id":1,"tools":[{"name":"a","inputSchema":{"properties":{"b":{"x-mcp-header":"B"}}}}],"params":{"name":"a","arguments":{"b":"c"},"_meta":{"progressToken":2}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 64
		events := newEvents(bytes.NewReader(data), limit)
		for {
			ev, err := events.next()
			if err != nil {
				break
			}
			require.LessOrEqual(t, len(ev.data), max(2*limit, 8<<10))
			require.LessOrEqual(t, len(ev.tail), 512)
			require.NotContains(t, string(oneLine(ev.data)), "\n")
		}
		require.LessOrEqual(t, len(events.lastID), maxEventID)
		require.LessOrEqual(t, events.retry, maxRetry)
		if !json.Valid(data) {
			return
		}
		line := oneLine(bytes.Clone(data))
		require.True(t, json.Valid(line))
		var h paramHeaders
		h.learn(line)
		h.set(http.Header{}, member(line, "params"))
		id, token := member(line, "id"), member(member(member(line, "params"), "_meta"), "progressToken")
		if id != nil && token != nil {
			require.True(t, json.Valid(jsonl.Splice(line, jsonl.Edit{Part: id, With: []byte("12")}, jsonl.Edit{Part: token, With: []byte(`"x"`)})))
		}
	})
}
