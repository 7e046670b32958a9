package catalog

import (
	"compress/gzip"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/errors"
)

var anyCall = &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}}

func read(id, path, schema string) *Entry {
	return &Entry{ID: id, Method: "GET", Path: path, Parameters: []byte(schema)}
}

func mustUpstream(t testing.TB, base string, opts *UpstreamOptions) *Upstream {
	up, err := NewUpstream(base, opts)
	require.NoError(t, err)
	return up
}

// callEntry checks arguments as a catalog does and calls.
func callEntry(t testing.TB, up *Upstream, e *Entry, args string) (*Answer, error) {
	op, err := compile(e)
	require.NoError(t, err)
	checked, f := op.arguments([]byte(args))
	if f != nil {
		return nil, f
	}
	return up.Call(t.Context(), anyCall, e, checked)
}

func TestUpstreamSendsWhereTheEntrySays(t *testing.T) {
	t.Parallel()
	var got string
	api := newSpy(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintf("%s %s | %s | %s | %s | %s", r.Method, r.RequestURI, body, r.Header.Get("X-Mode"), r.Header.Get("Authorization"), r.Header.Get("Content-Type"))
		ok(w, r)
	})
	up := mustUpstream(t, api.URL+"/base", &UpstreamOptions{Prefix: "/v1", Authorize: withToken, Header: http.Header{"x-mode": {"fixed"}}})
	for _, c := range []struct {
		entry *Entry
		args  string
		want  string
	}{
		{read("a", "/v1/a/{id}", `{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"tag":{"type":"array","items":{"type":"string"}},"deep":{"type":"boolean","default":true},"f":{"type":"object"}}}`),
			`{"id":9007199254740993,"tag":["x y","z"],"f":{"n":12345678901234567890}}`,
			`GET /base/v1/a/9007199254740993?deep=true&f=%7B%22n%22%3A12345678901234567890%7D&tag=x+y&tag=z |  | fixed | Bearer secret-token | `},
		{&Entry{ID: "b", Method: "POST", Path: "/v1/b", In: map[string]Location{"dry": InQuery, "X-Trace": InHeader}, Parameters: []byte(`{"type":"object","properties":{"n":{"type":"integer"},"dry":{"type":"boolean"},"X-Trace":{"type":"string"}}}`)},
			`{"n":12345678901234567890,"dry":false,"X-Trace":"t"}`,
			`POST /base/v1/b?dry=false | {"n":12345678901234567890} | fixed | Bearer secret-token | application/json`},
		{&Entry{ID: "c", Method: "PUT", Path: "/v1/c/{k}", In: map[string]Location{"rows": InPayload}, Parameters: []byte(`{"type":"object","properties":{"k":{"type":"string"},"rows":{"type":"array"}}}`)},
			`{"k":"x","rows":[1,{"a":null}]}`, `PUT /base/v1/c/x | [1,{"a":null}] | fixed | Bearer secret-token | application/json`},
		{&Entry{ID: "d", Method: "DELETE", Path: "/v1/d/{k}", Parameters: []byte(`{"type":"object","properties":{"k":{"type":"string"}}}`)},
			`{"k":"Zürich/5"}`, ""},
		{&Entry{ID: "e", Method: "DELETE", Path: "/v1/d/{k}", Parameters: []byte(`{"type":"object","properties":{"k":{"type":"string"}}}`)},
			`{"k":"Zürich"}`, `DELETE /base/v1/d/Z%C3%BCrich |  | fixed | Bearer secret-token | `},
	} {
		got = ""
		a, err := callEntry(t, up, c.entry, c.args)
		require.Equal(t, c.want, got, c.entry.ID)
		if c.want == "" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err, c.entry.ID)
		require.JSONEq(t, `{"ok":true}`, string(a.Data))
	}
}

// B211, B221, B225 and their like: what does not fit is refused before
// anything is sent.
func TestUpstreamRefusesArguments(t *testing.T) {
	t.Parallel()
	api := newSpy(t, ok)
	up := mustUpstream(t, api.URL, nil)
	e := read("a", "/v1/{id}", `{"type":"object","required":["id"],"properties":{"id":{"type":"string","maxLength":5},"limit":{"type":"integer","maximum":50},"side":{"enum":["buy","sell"]}}}`)
	for args, want := range map[string]string{
		`{"id":"x","id":"y"}`:       `the key "id" stands twice`,
		`{"ID":"x"}`:                `there is no parameter "ID"`,
		`{"id":"x","ıd":"y"}`:       "there is no parameter",
		`{"id":"x","id\u0000":"y"}`: "there is no parameter",
		`{"id":"x","limit":500}`:    "limit: maximum: 500",
		`{"id":"x","limit":"5"}`:    "limit: type",
		`{"id":"x","side":"hold"}`:  "side: enum",
		`{}`:                        "required",
		`{"id":"toolong"}`:          "id: maxLength",
		`{"id":["x"]}`:              "id: type",
		`[1]`:                       "not a JSON object",
		`{"id":"x"} {"id":"y"}`:     "more than one JSON value",
		`{"id":"x"`:                 "not valid JSON",
		"{\"id\":\"\xff\"}":         "not valid UTF-8",
		`{"id":"x","x":` + nest(70): "nested deeper",
		`{"id":"` + strings.Repeat("x", maxArgumentBytes) + `"}`: "more than",
		`{"id":"a/b"}`: "slash",
		`{"id":".."}`:  "dots",
	} {
		_, err := callEntry(t, up, e, args)
		var f *errors.Failure
		require.ErrorAs(t, err, &f, args)
		require.Contains(t, f.Error(), want)
		require.Contains(t, f.Error(), "give id (required, string, at most 5 characters)", "it says what fits")
	}
	seen, _ := api.seen()
	require.Empty(t, seen)
}

func nest(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) + "}" }

func TestUpstreamAnswers(t *testing.T) {
	t.Parallel()
	const secret = "postgres://admin:hunter2@db.internal/x"
	type answer struct {
		status int
		header map[string]string
		body   string
	}
	for _, c := range []struct {
		name   string
		answer answer
		write  bool
		data   string // of a good answer
		kind   errors.Kind
		want   string
		retry  errors.Retry
	}{
		{name: "json", answer: answer{200, map[string]string{"Content-Type": "application/json; charset=utf-8"}, ` {"n": 12345678901234567890} `}, data: `{"n": 12345678901234567890}`},
		{name: "problem json", answer: answer{200, map[string]string{"Content-Type": "application/vnd.api+json"}, `[1]`}, data: `[1]`},
		{name: "json without a type", answer: answer{200, nil, `{"a":1}`}, data: `{"content_type":"text/plain","text":"{\"a\":1}"}`},
		{name: "bom", answer: answer{200, map[string]string{"Content-Type": "application/json"}, "\xef\xbb\xbf{}"}, data: `{}`},
		{name: "csv", answer: answer{200, map[string]string{"Content-Type": "text/csv"}, "a,b\n1,2\n"}, data: `{"content_type":"text/csv","text":"a,b\n1,2"}`},
		{name: "bytes", answer: answer{200, map[string]string{"Content-Type": "image/png"}, "\x89PNG\x00"}, data: `{"content_type":"image/png","base64":"iVBORwA="}`},
		{name: "empty", answer: answer{204, nil, ""}, data: `null`},
		{name: "broken utf-8", answer: answer{200, map[string]string{"Content-Type": "application/json"}, "\"a\xffb\""}, data: `"a` + "\ufffd" + `b"`},
		{name: "garbage as json", answer: answer{200, map[string]string{"Content-Type": "application/json"}, `{"a":` + secret}, kind: errors.KindUnavailable, want: "not usable JSON", retry: errors.Retry{Policy: errors.RetryAfter}},
		{name: "deep json", answer: answer{200, map[string]string{"Content-Type": "application/json"}, strings.TrimSuffix(nest(5000), "}")}, kind: errors.KindUnavailable, want: "not usable JSON", retry: errors.Retry{Policy: errors.RetryAfter}},
		{name: "400", answer: answer{400, nil, secret}, kind: errors.KindInvalidInput, want: "status 400", retry: errors.Retry{Policy: errors.RetryChanged}},
		{name: "422", answer: answer{422, nil, secret}, kind: errors.KindInvalidInput, want: "status 422", retry: errors.Retry{Policy: errors.RetryChanged}},
		{name: "401", answer: answer{401, nil, secret}, kind: errors.KindPermissionDenied, want: "may not call", retry: errors.Retry{Policy: errors.RetryNever}},
		{name: "403", answer: answer{403, nil, secret}, kind: errors.KindPermissionDenied, want: "may not call", retry: errors.Retry{Policy: errors.RetryNever}},
		{name: "404", answer: answer{404, nil, secret}, kind: errors.KindNotFound, want: "check the values", retry: errors.Retry{Policy: errors.RetryChanged}},
		{name: "409", answer: answer{409, nil, secret}, kind: errors.KindConflict, want: "present state", retry: errors.Retry{Policy: errors.RetryNever}},
		{name: "429", answer: answer{429, map[string]string{"Retry-After": "7"}, secret}, kind: errors.KindRateLimited, want: "quota", retry: errors.Retry{Policy: errors.RetryAfter, After: 7 * time.Second}},
		{name: "429 of a write", answer: answer{429, map[string]string{"X-RateLimit-Reset": "9"}, secret}, write: true, kind: errors.KindRateLimited, want: "quota", retry: errors.Retry{Policy: errors.RetryAfter, After: 9 * time.Second}},
		{name: "500", answer: answer{500, nil, secret}, kind: errors.KindUnavailable, want: "status 500", retry: errors.Retry{Policy: errors.RetryAfter}},
		{name: "503", answer: answer{503, map[string]string{"Retry-After": "60"}, secret}, kind: errors.KindUnavailable, want: "status 503", retry: errors.Retry{Policy: errors.RetryAfter, After: time.Minute}},
		{name: "500 of a write", answer: answer{500, nil, secret}, write: true, kind: errors.KindUnavailable, want: "whether it took effect", retry: errors.Retry{Policy: errors.RetryNever}},
		{name: "405", answer: answer{405, nil, secret}, kind: errors.KindUnavailable, want: "does not offer", retry: errors.Retry{Policy: errors.RetryNever}},
		{name: "302", answer: answer{302, map[string]string{"Location": "http://elsewhere.example/"}, secret}, kind: errors.KindUnavailable, want: "redirect", retry: errors.Retry{Policy: errors.RetryNever}},
		{name: "300 without a place", answer: answer{300, nil, secret}, kind: errors.KindUnavailable, want: "redirect", retry: errors.Retry{Policy: errors.RetryNever}},
		{name: "large", answer: answer{200, map[string]string{"Content-Type": "text/plain"}, strings.Repeat("x", 5000)}, kind: errors.KindInvalidInput, want: "larger than 4096 bytes", retry: errors.Retry{Policy: errors.RetryChanged}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			api := newSpy(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				if c.name == "json without a type" {
					w.Header().Set("Content-Type", "text/plain")
				}
				for k, v := range c.answer.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.answer.status)
				_, _ = io.WriteString(w, c.answer.body)
			})
			up := mustUpstream(t, api.URL, &UpstreamOptions{Authorize: withToken, MaxBytes: 4096 + int64(len(c.answer.body))*b2i(c.name != "large")})
			e := read("thing", "/v1/x", "")
			if c.write {
				e.Method = "POST"
			}
			a, err := callEntry(t, up, e, "")
			if c.data != "" {
				require.NoError(t, err)
				if c.name == "json" {
					require.Equal(t, c.data, string(a.Data), "digits are kept")
				} else {
					require.JSONEq(t, c.data, string(a.Data))
				}
				return
			}
			var f *errors.Failure
			require.ErrorAs(t, err, &f)
			require.Equal(t, c.kind, f.Kind())
			require.Contains(t, f.Error(), c.want)
			require.Equal(t, c.retry, f.Retry())
			for _, private := range []string{"hunter2", "secret-token", api.host(), "127.0.0.1", "elsewhere"} {
				require.NotContains(t, f.Error(), private)
			}
		})
	}
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// An upstream that misbehaves on the wire does no harm.
func TestUpstreamMisbehaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		raw  func(conn net.Conn) // what the server does with a connection
		want string
	}{
		{"hangs", func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }, "did not answer"},
		{"hangs in the body", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
			_, _ = io.Copy(io.Discard, conn)
		}, "took too long"},
		{"promises more than it sends", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{}")
		}, "broke off"},
		{"sends more than it promised", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{\"a\":1}")
		}, "not usable JSON"},
		{"garbage", func(conn net.Conn) { _, _ = io.WriteString(conn, "\x00\x01\x02 nothing of HTTP\r\n\r\n") }, "did not answer"},
		{"closes", func(net.Conn) {}, "did not answer"},
		{"endless header", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: ")
			for {
				if _, err := conn.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		}, "did not answer"},
		{"100 MB", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n\r\n")
			block := []byte(strings.Repeat("[", 64<<10))
			for range 1600 {
				if _, err := conn.Write(block); err != nil {
					return
				}
			}
		}, "larger than"},
		{"endless", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
			for {
				if _, err := conn.Write([]byte(strings.Repeat("x", 64<<10))); err != nil {
					return
				}
			}
		}, "larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer listener.Close()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					go func() {
						defer conn.Close()
						_, _ = conn.Read(make([]byte, 4096))
						c.raw(conn)
					}()
				}
			}()
			up := mustUpstream(t, "http://"+listener.Addr().String(), &UpstreamOptions{Timeout: 300 * time.Millisecond})
			if !strings.HasPrefix(c.name, "hangs") {
				up.opts.Timeout = 20 * time.Second
			}
			_, err = callEntry(t, up, read("thing", "/x", ""), "")
			var f *errors.Failure
			require.ErrorAs(t, err, &f)
			require.Contains(t, f.Error(), c.want)
		})
	}
}

func TestUpstreamCompressionBomb(t *testing.T) {
	t.Parallel()
	api := newSpy(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/json")
		z := gzip.NewWriter(w)
		zeros := []byte(strings.Repeat(" ", 1<<20))
		for range 8 {
			if _, err := z.Write(zeros); err != nil {
				return
			}
		}
		_ = z.Close()
	})
	_, err := callEntry(t, mustUpstream(t, api.URL, nil), read("thing", "/x", ""), "")
	require.ErrorContains(t, err, "larger than")
}

// B218, B220: redirects stay where they are allowed, without the credential.
func TestRedirects(t *testing.T) {
	t.Parallel()
	other := newSpy(t, ok)
	var api *spy
	location := ""
	var last http.Header
	api = newSpy(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/start") {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		last = r.Header.Clone()
		ok(w, r)
	})
	up := mustUpstream(t, api.URL, &UpstreamOptions{Prefix: "/v1", Authorize: withToken, Header: http.Header{"X-Api-Key": {"secret-key"}}, Redirects: 2})
	e := read("thing", "/v1/start", "")
	_, port, _ := strings.Cut(api.host(), ":")
	refused := append(bypasses(other.host()), "http://localhost:"+port+"/v1/end", "https://"+api.host()+"/v1/end", other.URL+"/v1/end", "//"+other.host()+"/v1/end", "/v2/end", "/v1/../end", "/v1/%2e%2e/end", "http://u:p@"+api.host()+"/v1/end")
	refused = slices.DeleteFunc(refused, func(l string) bool {
		// Relative to /v1/start, or without any effect, these stay below /v1.
		return l == "" || l == "." || strings.HasPrefix(l, "?") || strings.HasPrefix(l, "#") || strings.HasPrefix(l, "/v1/x?") || strings.HasPrefix(l, "/v1/x#") || strings.ContainsAny(l, "\r\n\x00") || !strings.HasPrefix(l, "/") && !strings.Contains(l, "://")
	})
	require.Greater(t, len(refused), 200)
	if !long {
		refused = everyNth(refused, 5)
	}
	for _, location = range refused {
		last = nil
		_, err := callEntry(t, up, e, "")
		if err == nil {
			// The parser resolved it to something below the prefix.
			require.NotNil(t, last, location)
			require.Empty(t, last.Get("Authorization"), location)
			require.Empty(t, last.Get("X-Api-Key"), location)
			continue
		}
		require.NotContains(t, err.Error(), "elsewhere")
	}
	requests, tokens := other.seen()
	require.Empty(t, requests)
	require.Zero(t, tokens)

	for _, location = range []string{"/v1/end", "end", api.URL + "/v1/end?x=1"} {
		last = nil
		_, err := callEntry(t, up, e, "")
		require.NoError(t, err, location)
		require.Empty(t, last.Get("Authorization"), "a redirect carries no credential")
		require.Empty(t, last.Get("X-Api-Key"))
	}
	location = "/v1/start"
	_, err := callEntry(t, up, e, "")
	require.ErrorContains(t, err, "redirected", "a loop ends")

	location = "/v1/end"
	_, err = callEntry(t, mustUpstream(t, api.URL, &UpstreamOptions{Prefix: "/v1"}), e, "")
	require.ErrorContains(t, err, "redirected", "none are followed unless asked for")
	post := &Entry{ID: "w", Method: "POST", Path: "/v1/start", Parameters: []byte(`{"type":"object","properties":{"a":{}}}`)}
	_, err = callEntry(t, up, post, `{"a":1}`)
	require.ErrorContains(t, err, "redirected", "a write is not sent twice")
}

// A public name that resolves to this machine is not called.
func TestUpstreamRefusesAddresses(t *testing.T) {
	t.Parallel()
	other := newSpy(t, ok)
	_, port, _ := strings.Cut(other.host(), ":")
	up := mustUpstream(t, "http://api.example.com:"+port, &UpstreamOptions{PlainHTTP: true, Authorize: withToken})
	// As if the resolver had answered with an address of this machine.
	guarded := up.client.Transport.(*http.Transport)
	dial := guarded.DialContext
	guarded.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dial(ctx, network, "127.0.0.1:"+port)
	}
	_, err := callEntry(t, up, read("thing", "/x", ""), "")
	require.ErrorContains(t, err, "not where it should be")
	seen, _ := other.seen()
	require.Empty(t, seen)
}

func TestUpstreamTransport(t *testing.T) {
	t.Parallel()
	given := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: 3, DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, fmt.Errorf("not this one") }}
	up := mustUpstream(t, "https://api.example.com", &UpstreamOptions{Transport: given})
	used := up.client.Transport.(*http.Transport)
	require.NotSame(t, given, used)
	require.Nil(t, used.Proxy)
	require.Equal(t, 3, used.MaxIdleConns)
	require.NotNil(t, given.Proxy)
}

func TestAuthorizeFails(t *testing.T) {
	t.Parallel()
	api := newSpy(t, ok)
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("vault at 10.0.0.1 says no"), "does not have"},
		{errors.Denied("sign in first"), "sign in first"},
	} {
		up := mustUpstream(t, api.URL, &UpstreamOptions{Authorize: func(context.Context, *mcp.CallToolRequest, http.Header) error { return c.err }})
		_, err := callEntry(t, up, read("thing", "/x", ""), "")
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "10.0.0.1")
	}
	seen, _ := api.seen()
	require.Empty(t, seen)
}

// TestOneSender lists who sends requests: everything goes through
// Upstream.send, and that is called by two functions, each of which takes its
// URL from the guard. (Fetching the entries sends no caller's credential.)
func TestOneSender(t *testing.T) {
	t.Parallel()
	calls := map[string][]string{}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(gotoken.NewFileSet(), f.Name(), nil, 0)
		require.NoError(t, err)
		for _, d := range syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				switch name := sel.Sel.Name; name {
				case "send", "Do", "RoundTrip", "Call", "CallPath", "Authorize", "callOne":
					if !slices.Contains(calls[name], fn.Name.Name) {
						calls[name] = append(calls[name], fn.Name.Name)
					}
				}
				return true
			})
		}
	}
	for name := range calls {
		slices.Sort(calls[name])
	}
	require.Equal(t, map[string][]string{
		"send":      {"Call", "CallPath"}, // of Upstream
		"Do":        {"Load", "send"},     // Load is the catalog document's
		"Authorize": {"send"},             // credentials are added in one place
		"Call":      {"callOne"},          // of a Caller
		"CallPath":  {"callOne"},
		"callOne":   {"callSafely", "callTool", "shortcut"}, // callSafely is a batch's
	}, calls)
}

func everyNth(list []string, n int) []string {
	var out []string
	for i := 0; i < len(list); i += n {
		out = append(out, list[i])
	}
	return out
}

func TestUpstreamAtOnce(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(ok))
	defer api.Close()
	up := mustUpstream(t, api.URL, nil)
	e := read("thing", "/x", "")
	done := make(chan error)
	for range 16 {
		go func() {
			_, err := up.Call(context.Background(), anyCall, e, nil)
			done <- err
		}()
	}
	for range 16 {
		require.NoError(t, <-done)
	}
}
