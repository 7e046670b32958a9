package steady_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady"
)

func TestEndpointOrigins(t *testing.T) {
	t.Parallel()
	const page = "http://localhost:6274"
	seen := &recorder{}
	_, closed := serve(t, same(noteServer(theNote)), &steady.HTTPOptions{Observer: seen}, nil)
	authenticated := 0
	_, open := serve(t, same(noteServer(theNote)), &steady.HTTPOptions{
		Observer:     seen,
		AllowOrigins: []string{page},
		Middleware: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				authenticated++
				next.ServeHTTP(w, r)
			})
		},
	}, nil)
	for _, c := range []struct {
		name, url, method string
		header            []string
		want              int
	}{
		{"no browser", closed, http.MethodPost, nil, http.StatusOK},
		{"a page of ours", closed, http.MethodPost, []string{"Origin", closed, "Sec-Fetch-Site", "same-origin"}, http.StatusOK},
		{"a page", closed, http.MethodPost, []string{"Origin", page, "Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"a page asks first", closed, http.MethodOptions, []string{"Origin", page}, http.StatusForbidden},
		{"a page listens", closed, http.MethodGet, []string{"Origin", page}, http.StatusForbidden},
		{"a page ends a session", closed, http.MethodDelete, []string{"Origin", page}, http.StatusForbidden},
		{"a person follows a link", closed, http.MethodGet, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusBadRequest},
		{"a sandboxed page", closed, http.MethodPost, []string{"Origin", "null"}, http.StatusForbidden},
		{"rebound name", closed, http.MethodPost, []string{"Host", "evil.example"}, http.StatusForbidden},
		{"rebound name asks first", open, http.MethodOptions, []string{"Host", "evil.example", "Origin", page}, http.StatusForbidden},
		{"allowed page", open, http.MethodPost, []string{"Origin", page, "Sec-Fetch-Site", "cross-site"}, http.StatusOK},
		{"allowed page asks first", open, http.MethodOptions, []string{"Origin", page}, http.StatusNoContent},
		{"other page", open, http.MethodPost, []string{"Origin", "http://evil.example"}, http.StatusForbidden},
		{"other page asks first", open, http.MethodOptions, []string{"Origin", "http://evil.example"}, http.StatusForbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), c.method, c.url, strings.NewReader(initialize))
			require.NoError(t, err)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			for i := 0; i < len(c.header); i += 2 {
				r.Header.Set(c.header[i], c.header[i+1])
			}
			if host := r.Header.Get("Host"); host != "" {
				r.Host = host
			}
			response, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Equal(t, c.want, response.StatusCode, "%s", body)
			allowed := response.Header.Get("Access-Control-Allow-Origin")
			require.Equal(t, c.url == open && c.want < 300, allowed == page, "%q", allowed)
			if allowed != "" {
				require.Contains(t, response.Header.Get("Access-Control-Expose-Headers"), "Retry-After")
			}
			if c.want != http.StatusForbidden {
				require.Empty(t, seen.take())
				return
			}
			require.Equal(t, []string{"steady.turned_away"}, seen.take())
			require.Regexp(t, `^\{"jsonrpc":"2.0","error":\{"code":-32600,"message":"[^"]+"\}\}$`, string(body))
		})
	}
	require.Equal(t, 1, authenticated, "a question of a browser's carries no token")
}

// Whoever is refused does not hold a connection by sending the rest slowly.
func TestEndpointLeavesTheBodiesOfTheRefused(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{
		"a page's":                "POST / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example",
		"of a method without one": "GET / HTTP/1.1\r\nHost: localhost",
		"of no method":            "FETCH / HTTP/1.1\r\nHost: localhost",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := serve(t, same(noteServer(theNote)), &steady.HTTPOptions{BodyTimeout: 100 * time.Millisecond}, nil)
			conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			require.NoError(t, err)
			defer conn.Close()
			_, err = fmt.Fprintf(conn, "%s\r\nContent-Length: 100000\r\n\r\n", header)
			require.NoError(t, err)
			answer, took := slowly(t, conn, "{")
			require.Contains(t, answer, "HTTP/1.1 4")
			require.Less(t, took, 20*time.Second)
		})
	}
}
