package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A web is a server over HTTP that the tests make do what they like.
type web struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	sessions int
	known    string // the session that it knows, "" if none
	any      bool   // it knows them all
	requests []string
	get      http.HandlerFunc // if not nil, answers GET
	answer   map[string]http.HandlerFunc
}

func newWeb(t testing.TB, answer map[string]http.HandlerFunc) *web {
	w := &web{t: t, answer: answer}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Server.CloseClientConnections)
	t.Cleanup(w.Close)
	return w
}

func (s *web) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = ""
}

// seen returns what came so far but for GET: the method, the session and the body.
func (s *web) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

func (s *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name string
			Meta map[string]any `json:"_meta"`
		}
	}
	_ = json.Unmarshal(body, &m)
	session := r.Header.Get("Mcp-Session-Id")
	s.mu.Lock()
	if r.Method != http.MethodGet {
		s.requests = append(s.requests, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, session, body)))
	}
	known, get := s.known, s.get
	if m.Method == "initialize" {
		s.sessions++
		s.known = fmt.Sprintf("session-%d", s.sessions)
		known = s.known
		w.Header().Set("Mcp-Session-Id", known)
	}
	name := m.Method
	if m.Params.Name != "" {
		name = m.Params.Name
	}
	answer := s.answer[name]
	s.mu.Unlock()
	switch {
	case m.Method == "initialize":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": %s,\n  \"result\": {\"protocolVersion\": \"2025-11-25\"}\n}\n", m.ID)
	case answer == nil && m.Params.Meta == nil && session != known && !s.any:
		http.Error(w, "session not found", http.StatusNotFound)
	case r.Method == http.MethodDelete:
		s.forget()
	case r.Method == http.MethodGet && get != nil:
		get(w, r)
	case r.Method == http.MethodGet:
		http.Error(w, "no", http.StatusMethodNotAllowed)
	case answer != nil:
		answer(w, r)
	case m.ID == nil || m.Method == "":
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{ "jsonrpc":"2.0", "id":%s, "unknown": 1e2, "result":{"line":%q} }`, m.ID, body)
	}
}

func openWeb(t testing.TB, w *web, change func(*Options)) *session {
	return open(t, func(o *Options) {
		o.Command, o.Env, o.URL = nil, nil, w.URL+"/mcp"
		if change != nil {
			change(o)
		}
	})
}

func TestBytesPassOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWeb(t, nil)
	s := openWeb(t, w, nil)
	s.send(initialize)
	require.Equal(t, `{   "jsonrpc": "2.0",    "id": 0,   "result": {"protocolVersion": "2025-11-25"} }`, s.receive())
	s.send(initialized)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"é\u00e9","method":"no/such","params":[1, 2.0e0],"more":{"a":"\ud83d\ude00"}}`,
		`{"id":1.0,"params":{"id":9,"method":"x"},"method":"tools/list","jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"x/` + strings.Repeat("y", 200<<10) + `"}`,
	} {
		s.send(line)
		id := string(member([]byte(line), "id"))
		require.Equal(t, fmt.Sprintf(`{ "jsonrpc":"2.0", "id":%s, "unknown": 1e2, "result":{"line":%q} }`, id, line), s.receive())
	}
	require.NoError(t, s.in.Close())
	require.NoError(t, s.wait())
	seen := w.seen()
	require.Equal(t, "POST  "+initialize, seen[0])
	require.Equal(t, "POST session-1 "+initialized, seen[1])
	require.Equal(t, "DELETE session-1", seen[len(seen)-1])
	require.Empty(t, s.log.String())
}

// A session that the server has lost is begun again, and the request that found
// out about it is sent once more: the server has said that it did not take it.
func TestSessionLost(t *testing.T) {
	t.Parallel()
	w := newWeb(t, nil)
	s := openWeb(t, w, nil)
	s.send(initialize)
	s.receive()
	s.send(initialized, callTo(1, "echo"))
	s.receive()
	w.forget()
	s.send(callTo(2, "echo"))
	require.Contains(t, s.receive(), `"id":2, "unknown"`)
	require.Contains(t, s.log.String(), "begun again")
	again := string(withID([]byte(initialize), `"steady-restart-1-1"`))
	seen := w.seen()
	require.Equal(t, []string{"POST session-1 " + callTo(2, "echo"), "POST  " + again, "POST session-2 " + initialized}, seen[len(seen)-4:len(seen)-1])
	require.Equal(t, "POST session-2 "+callTo(2, "echo"), seen[len(seen)-1])
}

func TestEndpointThatCannotBeReached(t *testing.T) {
	t.Parallel()
	w := newWeb(t, nil)
	w.Close()
	s := openWeb(t, w, func(o *Options) { o.Start = 50 * time.Millisecond })
	s.send(callTo(1, "echo"))
	require.Contains(t, s.receive(), `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"The server cannot be reached (connection refused). Nothing was done.`)
}

func listenAt(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
