package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/report"
)

// webServer is a server over HTTP with one tool, written by hand, and one
// mistake.
func webServer(mistake string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		is := func(m string) bool { return m == mistake }
		if origin := req.Header.Get("Origin"); origin != "" && !is("any-origin") {
			http.Error(w, "origin", http.StatusForbidden)
			return
		}
		switch {
		case req.Method == http.MethodDelete:
			return
		case req.Method != http.MethodPost && is("any-method"):
			w.WriteHeader(http.StatusOK)
			return
		case req.Method != http.MethodPost:
			http.Error(w, "method", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(io.LimitReader(req.Body, 8<<20))
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if err != nil || json.Unmarshal(body, &m) != nil && (m.Method == "" || m.Params.Name == "") {
			status := http.StatusBadRequest
			if is("500-for-garbage") {
				status = http.StatusInternalServerError
			}
			http.Error(w, "no message", status)
			return
		}
		if m.Method != "initialize" && req.Header.Get("Mcp-Session-Id") != "s-1" {
			status := http.StatusNotFound
			if is("401-for-sessions") {
				status = http.StatusUnauthorized
			}
			http.Error(w, "no session", status)
			return
		}
		if len(m.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		var result, fail any
		switch m.Method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "s-1")
			result = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "web", "version": "1"}}
		case "ping":
			result = map[string]any{}
		case "tools/list":
			result = map[string]any{"tools": []any{map[string]any{
				"name": "get_time", "description": "Read the time. Use it when the time matters. Returns a text.", "annotations": map[string]any{"readOnlyHint": true},
				"inputSchema": map[string]any{"type": "object", "properties": map[string]any{}},
			}}}
		case "tools/call":
			content := []any{map[string]any{"type": "text", "text": "there is no such tool; there is get_time"}}
			if m.Params.Name == "get_time" {
				content = []any{map[string]any{"type": "text", "text": "noon"}}
			}
			result = map[string]any{"content": content, "isError": m.Params.Name != "get_time"}
		default:
			fail = map[string]any{"code": -32601, "message": "no such method"}
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
		if fail != nil {
			answer["error"] = fail
		} else {
			answer["result"] = result
		}
		data, _ := json.Marshal(answer)
		if is("event-stream") { // no mistake, the other form
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": hello\n\nevent: message\ndata: "+string(data)+"\n\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data)
	})
}

func TestMistakesOverHTTP(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ mistake, probe string }{
		{"", ""},
		{"event-stream", ""},
		{"500-for-garbage", "http-malformed"},
		{"401-for-sessions", "http-session"},
		{"any-origin", "http-origin"},
		{"any-method", "http-method"},
	} {
		t.Run(test.mistake, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(webServer(test.mistake))
			defer server.Close()
			r := examine(t, "-http", server.URL)
			var found []string
			for _, f := range r.Findings {
				// One that takes any argument and ignores it is as it should be here.
				if f.Probe != "arg-extra" && !slices.Contains(found, f.Probe) {
					found = append(found, f.Probe)
				}
			}
			require.Equal(t, strings.Fields(test.probe), append([]string{}, found...), explain(r))
		})
	}
}

func TestOrdersOverHTTP(t *testing.T) {
	t.Parallel()
	r := examine(t, "-write", "-destructive", "-http", serveOrders(t))
	require.Empty(t, grave(r), explain(r))
	// A panic of a bare server ends it for everybody.
	r = examine(t, "-http", serveOrders(t, "-bare", "-bug", "panic"), "-only", "calls,hostile")
	require.True(t, slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return f.Probe == "crash" }), explain(r))
}

// No form of the report holds what the user gave to reach the server.
func TestSecretsStaySecret(t *testing.T) {
	t.Setenv("MY_TOKEN", "tok-5555-secret")
	// A server that repeats what it is sent, as error pages do.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if auth := req.Header.Get("Authorization"); req.Header.Get("Mcp-Session-Id") != "" {
			http.Error(w, "you sent "+auth, http.StatusForbidden)
			return
		}
		webServer("").ServeHTTP(w, req)
	}))
	defer server.Close()
	page := t.TempDir() + "/page.html"
	for _, args := range [][]string{{"-json"}, {"-v"}, {"-sarif", "x.go"}, {"-html", page}} {
		args = append(append([]string{"doctor", "-idle", "10ms", "-timeout", "2s"}, args...), "-http", server.URL+"?api_key=key-6666-secret", "-header", "Authorization: Bearer $MY_TOKEN")
		_, stdout, stderr := steady(t, "", args...)
		require.Contains(t, stdout, "***")
		require.NotContains(t, stdout+stderr, "5555")
		require.NotContains(t, stdout+stderr, "6666")
	}
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	require.NotContains(t, string(data), "5555")
	require.NotContains(t, string(data), "6666")
}
