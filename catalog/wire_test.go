package catalog

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/errors"
)

// No dialling function of a given transport is used, also not a deprecated one.
func TestUpstreamDialsItself(t *testing.T) {
	t.Parallel()
	reached := 0
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reached++; ok(w, r) }))
	defer other.Close()
	plain := func(string, string) (net.Conn, error) { return net.Dial("tcp", other.Listener.Addr().String()) }
	insecure := &tls.Config{InsecureSkipVerify: true}
	secure := func(string, string) (net.Conn, error) {
		return tls.Dial("tcp", other.Listener.Addr().String(), insecure)
	}
	for name, given := range map[string]*http.Transport{
		"Dial":    {TLSClientConfig: insecure, Dial: plain},
		"DialTLS": {TLSClientConfig: insecure, DialTLS: secure},
	} {
		// Nothing listens there: an answer comes from where the function leads.
		up := mustUpstream(t, "https://localhost:1", &UpstreamOptions{Transport: given, Authorize: withToken})
		_, err := callEntry(t, up, read("thing", "/x", ""), "")
		require.Error(t, err, name)
		require.Zero(t, reached, name)
	}
}

// What the API sends is in no error, however the answer is broken: it may be
// the credential.
func TestUpstreamErrorsQuoteNothing(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"TOKEN\r\n\r\n", "HTTP/1.1 TOKEN x\r\n\r\n", "HTTP/1.1 200 OK\r\nTOKEN\r\n\r\n", "HTTP/TOKEN 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: TOKEN\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: TOKEN\r\n\r\n", "HTTP/1.1 307 x\r\nLocation: http://TOKEN:x%zz\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nTOKEN\r\n"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, strings.ReplaceAll(answer, "TOKEN", "secret-token"))
				conn.Close()
			}
		}()
		up := mustUpstream(t, "http://"+l.Addr().String(), &UpstreamOptions{Authorize: withToken, Redirects: 1})
		_, err = callEntry(t, up, read("thing", "/x", ""), "")
		require.Error(t, err, answer)
		for e := err; e != nil; e = errors.Unwrap(e) {
			require.NotContains(t, fmt.Sprintf("%v %+v", e, e), "secret-token", answer)
		}
	}
}

// A result is not much larger than what it holds, and reads as it was sent.
func TestResultsAreNotEscapedTwice(t *testing.T) {
	t.Parallel()
	body := `{"url":"https://x.example/?a=1&b=<2>"}`
	status := http.StatusOK
	api := newSpy(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	c, err := New(Static(Entry{ID: "get", Method: "GET", Path: "/x"}, Entry{ID: "post", Method: "POST", Path: "/x"}, Entry{ID: "put", Method: "PUT", Path: "/x"}),
		&Options{Caller: mustUpstream(t, api.URL, nil), Observer: quiet, FreePaths: true})
	require.NoError(t, err)
	r, err := c.callTool(t.Context(), anyCall, map[string]any{"id": "get"}, false)
	require.NoError(t, err)
	require.Contains(t, text(r), "https://x.example/?a=1&b=<2>")

	large := `["` + strings.Repeat("<\\u0001", 300_000) + `"]`
	for _, bad := range []string{large, `["` + strings.Repeat("x", 3<<20) + `"]`} {
		body, status = bad, http.StatusCreated
		_, err = c.callTool(t.Context(), anyCall, map[string]any{"id": "get"}, false)
		require.ErrorContains(t, err, "ask for less")
		_, err = c.callTool(t.Context(), anyCall, map[string]any{"path": "/free"}, false)
		require.ErrorContains(t, err, "ask for less")
		for _, id := range []string{"post", "put"} {
			_, err = c.callTool(t.Context(), anyCall, map[string]any{"id": id}, true)
			var f *errors.Failure
			require.ErrorAs(t, err, &f)
			require.Contains(t, f.Error(), "was carried out")
			require.Contains(t, f.Error(), "do not call it again")
			require.Equal(t, errors.RetryNever, f.Retry().Policy)
		}
	}
	body = `["` + strings.Repeat("\\u0001", 120_000) + `"]`
	calls := []any{}
	for range 8 {
		calls = append(calls, map[string]any{"id": "get"})
	}
	_, err = c.callTool(t.Context(), anyCall, map[string]any{"calls": calls}, false)
	if err != nil {
		require.ErrorContains(t, err, "fewer calls")
	}
	body = `{"ok":`
	_, err = c.callTool(t.Context(), anyCall, map[string]any{"id": "post"}, true)
	require.ErrorContains(t, err, "was carried out")
	body = ""
	for s, want := range map[int]string{304: "sent nothing", 402: "plan", 451: "legal"} {
		status = s
		_, err = c.callTool(t.Context(), anyCall, map[string]any{"id": "get"}, false)
		require.ErrorContains(t, err, want)
	}
	status = 404
	_, err = c.callTool(t.Context(), anyCall, map[string]any{"path": "/free"}, false)
	require.ErrorContains(t, err, "nothing is at the path")
	require.NotContains(t, err.Error(), "arguments")
}
