package tasks_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/tasks"
)

// wireClient speaks plain HTTP, to see what is on the wire.
type wireClient struct {
	t        testing.TB
	url      string
	token    string
	declared bool
	revision string
}

// serveHTTP serves a server over streamable HTTP. The bearer token is the name
// of the user.
func serveHTTP(t testing.TB, server *mcp.Server, m *tasks.Manager) *wireClient {
	t.Helper()
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	h := m.Handler(streamable)
	authenticated := auth.RequireBearerToken(verify, nil)(h)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			h.ServeHTTP(w, r)
			return
		}
		authenticated.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return &wireClient{t: t, url: s.URL, token: "ada", declared: true, revision: mcptest.Stateless}
}

func (c wireClient) as(token string) *wireClient { c.token = token; return &c }

func (c wireClient) undeclared() *wireClient { c.declared = false; return &c }

// request makes a request; header overrides the usual ones.
func (c *wireClient) request(ctx context.Context, method string, params map[string]any, header map[string]string) *http.Request {
	c.t.Helper()
	caps := map[string]any{"elicitation": map[string]any{}}
	if c.declared {
		caps["extensions"] = map[string]any{tasks.ExtensionID: map[string]any{}}
	}
	msg := map[string]any{"jsonrpc": "2.0", "id": 7, "method": method}
	if params != nil {
		params["_meta"] = map[string]any{
			mcp.MetaKeyProtocolVersion:    c.revision,
			mcp.MetaKeyClientCapabilities: caps,
			mcp.MetaKeyClientInfo:         map[string]any{"name": "wire", "version": "1"},
		}
		msg["params"] = params
	}
	body, err := json.Marshal(msg)
	require.NoError(c.t, err)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	require.NoError(c.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", c.revision)
	r.Header.Set("Mcp-Method", method)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for _, key := range []string{"name", "taskId"} {
		if name, ok := params[key].(string); ok {
			r.Header.Set("Mcp-Name", name)
		}
	}
	for k, v := range header {
		r.Header.Del(k)
		if v != "" {
			r.Header.Set(k, v)
		}
	}
	return r
}

// reply is a response: its HTTP status, and result or error.
type reply struct {
	status int
	Result map[string]any `json:"result"`
	Error  *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

func (c *wireClient) do(method string, params map[string]any, header map[string]string) reply {
	c.t.Helper()
	resp, err := http.DefaultClient.Do(c.request(c.t.Context(), method, params, header))
	require.NoError(c.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	for line := range strings.SplitSeq(string(body), "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.Contains(data, `"id"`) {
			body = []byte(data)
		}
	}
	out := reply{status: resp.StatusCode}
	require.NoError(c.t, json.Unmarshal(body, &out), "%s: %s", resp.Status, body)
	return out
}

func (c *wireClient) code(method string, params map[string]any) int {
	c.t.Helper()
	r := c.do(method, params, nil)
	require.NotNil(c.t, r.Error, "%v", r.Result)
	return r.Error.Code
}

func (c *wireClient) create(args map[string]any) string {
	c.t.Helper()
	r := c.do("tools/call", map[string]any{"name": "export", "arguments": args}, nil)
	require.Nil(c.t, r.Error)
	require.Equal(c.t, "task", r.Result["resultType"], "%v", r.Result)
	return r.Result["taskId"].(string)
}

func (c *wireClient) get(id string) map[string]any {
	c.t.Helper()
	r := c.do("tasks/get", map[string]any{"taskId": id}, nil)
	require.Nil(c.t, r.Error)
	require.Equal(c.t, "complete", r.Result["resultType"])
	return r.Result
}

func (c *wireClient) await(id, status string) map[string]any {
	c.t.Helper()
	var last map[string]any
	require.Eventually(c.t, func() bool { last = c.get(id); return last["status"] == status }, 10*time.Second, 5*time.Millisecond)
	return last
}

var eager = map[string]tasks.Policy{"export": {Grace: tasks.Eager}}

func TestExtensionOnTheWire(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: eager})
	c := serveHTTP(t, exportServer(t, j, m), m)

	r := c.do("server/discover", map[string]any{}, nil)
	require.Contains(t, r.Result["capabilities"].(map[string]any)["extensions"], tasks.ExtensionID)

	before := time.Now()
	r = c.do("tools/call", map[string]any{"name": "export", "arguments": map[string]any{}, "task": map[string]any{"ttl": 1}}, nil)
	require.Nil(t, r.Error)
	require.Equal(t, "working", r.Result["status"])
	// It counts from the answer, which may come later than the task.
	ttl, ok := r.Result["ttlMs"].(float64)
	require.True(t, ok, "%v", r.Result["ttlMs"])
	require.GreaterOrEqual(t, ttl, float64(time.Hour.Milliseconds()))
	require.LessOrEqual(t, ttl, float64((time.Hour + time.Since(before)).Milliseconds()))
	require.EqualValues(t, 1000, r.Result["pollIntervalMs"])
	require.NotContains(t, r.Result, "result")
	id := r.Result["taskId"].(string)
	require.Equal(t, "working", c.get(id)["status"])
	close(j.release)
	done := c.await(id, "completed")
	require.Equal(t, map[string]any{"rows": 42.0}, done["result"].(map[string]any)["structuredContent"])
	require.NotContains(t, done, "error")

	// Cancelling what has ended is acknowledged and changes nothing (B203).
	r = c.do("tasks/cancel", map[string]any{"taskId": id}, nil)
	require.Equal(t, map[string]any{"resultType": "complete"}, without(r.Result, "_meta"))
	require.Equal(t, "completed", c.get(id)["status"])

	for _, method := range []string{"tasks/list", "tasks/result"} {
		require.Equal(t, -32601, c.code(method, map[string]any{"taskId": id}))
	}
}

func without(m map[string]any, key string) map[string]any { delete(m, key); return m }

func TestUndeclaredClientsAreRefusedTheMethods(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{ExtensionOnly: true, Policies: map[string]tasks.Policy{"export": {Support: tasks.Required, Grace: tasks.Eager}}})
	c := serveHTTP(t, exportServer(t, j, m), m)
	id := c.create(nil)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		r := c.undeclared().do(method, map[string]any{"taskId": id}, nil)
		require.Equal(t, -32021, r.Error.Code)
		require.Equal(t, 400, r.status)
		require.Contains(t, r.Error.Data["requiredCapabilities"].(map[string]any)["extensions"], tasks.ExtensionID)
	}
	require.Equal(t, -32021, c.undeclared().code("tools/call", map[string]any{"name": "export", "arguments": map[string]any{}}))
	r := c.undeclared().do("subscriptions/listen", map[string]any{"notifications": map[string]any{"taskIds": []string{id}}}, nil)
	require.Equal(t, -32021, r.Error.Code)
}

func TestMcpNameIsChecked(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: eager})
	c := serveHTTP(t, exportServer(t, j, m), m)
	id := c.create(nil)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, name := range []string{"", "other"} {
			r := c.do(method, map[string]any{"taskId": id}, map[string]string{"Mcp-Name": name})
			require.Equal(t, -32020, r.Error.Code)
			require.Equal(t, http.StatusBadRequest, r.status)
		}
	}
	require.Equal(t, "working", c.get(id)["status"])
}

// A caller without an identity is served within its request, which is said once,
// also where the manager's middleware stands on the way twice.
func TestAnonymousCallIsObservedOnce(t *testing.T) {
	seen := newEvents()
	m := newManager(t, tasks.Options{Policies: eager, Observer: seen})
	server := mcptest.Server()
	require.NoError(t, m.Install(server))
	server.AddReceivingMiddleware(m.Middleware())
	mcp.AddTool(server, &mcp.Tool{Name: "export"}, (&counter{}).tool)
	c := serveHTTP(t, server, m).as("")
	for range 2 {
		r := c.do("tools/call", map[string]any{"name": "export", "arguments": map[string]any{}}, nil)
		require.Contains(t, fmt.Sprint(r.Result["content"]), "run ")
	}
	require.Len(t, seen.all(), 2)
	require.Equal(t, tasks.Denied{Verb: "tools/call", Reason: "anonymous"}, seen.all()[0])
}

// B205: the owner is checked on every verb, and foreign looks like unknown.
func TestForeignTasksLookUnknown(t *testing.T) {
	j := newJob()
	seen := newEvents()
	m := newManager(t, tasks.Options{Policies: eager, Observer: seen})
	c := serveHTTP(t, exportServer(t, j, m), m)
	id := c.create(nil)
	unknown := "nosuchtask"
	for _, caller := range []*wireClient{c.as("eve"), c.as("")} {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			foreign := caller.do(method, map[string]any{"taskId": id, "inputResponses": map[string]any{}}, nil)
			nothing := caller.do(method, map[string]any{"taskId": unknown, "inputResponses": map[string]any{}}, nil)
			require.Equal(t, -32602, foreign.Error.Code)
			require.Equal(t, nothing, foreign)
		}
		for _, tool := range []string{"task_status", "task_result", "task_cancel", "task_answer"} {
			args := map[string]any{"task_id": id, "answers": map[string]any{}}
			if tool != "task_answer" {
				delete(args, "answers")
			}
			r := caller.do("tools/call", map[string]any{"name": tool, "arguments": args}, nil)
			require.Equal(t, true, r.Result["isError"])
			require.Contains(t, fmt.Sprint(r.Result["content"]), "there is no task")
		}
		r := caller.do("tools/call", map[string]any{"name": "task_status", "arguments": map[string]any{}}, nil)
		require.NotContains(t, fmt.Sprint(r.Result), id)
	}
	require.Equal(t, "working", c.get(id)["status"])
	var reasons, callers []string
	for _, e := range seen.all() {
		if d, ok := e.(tasks.Denied); ok && d.Verb == "tasks/get" {
			reasons, callers = append(reasons, d.Reason), append(callers, d.Caller)
		}
	}
	require.Equal(t, []string{"foreign", "unknown", "anonymous", "unknown"}, reasons)
	require.Equal(t, []string{"sub:eve", "sub:eve", "", ""}, callers)

	// Nor does another user's identical call join.
	require.NotEqual(t, id, c.as("eve").create(nil))
}

func TestACallerWithoutIdentityGetsNoTasks(t *testing.T) {
	j := newJob()
	close(j.release)
	m := newManager(t, tasks.Options{Policies: eager})
	c := serveHTTP(t, exportServer(t, j, m), m).as("")
	for range 2 {
		r := c.do("tools/call", map[string]any{"name": "export", "arguments": map[string]any{}}, nil)
		require.Equal(t, "complete", r.Result["resultType"], "it runs within the request")
	}
	require.EqualValues(t, 2, j.runs.Load())
}

// listenHTTP opens subscriptions/listen and returns its messages.
func (c *wireClient) listen(ctx context.Context, notifications map[string]any) <-chan map[string]any {
	c.t.Helper()
	resp, err := http.DefaultClient.Do(c.request(ctx, "subscriptions/listen", map[string]any{"notifications": notifications}, nil))
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusOK, resp.StatusCode)
	messages := make(chan map[string]any, 100)
	go func() {
		defer close(messages)
		defer resp.Body.Close()
		scanner := bufio.NewScanner(resp.Body)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			if data, ok := strings.CutPrefix(scanner.Text(), "data: "); ok {
				var msg map[string]any
				if json.Unmarshal([]byte(data), &msg) == nil {
					messages <- msg
				}
			}
		}
	}()
	return messages
}

func TestPushOverHTTP(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: eager})
	c := serveHTTP(t, exportServer(t, j, m), m)
	id, foreign := c.create(nil), c.as("eve").create(nil)
	messages := c.listen(t.Context(), map[string]any{"taskIds": []string{id, id, foreign, "nosuchtask"}})

	requirePush(t, messages, id, func() { close(j.release) })
	_, open := <-messages
	require.False(t, open, "the stream ends with its last task")
}

// requirePush checks what a client sees that listens to one running task.
func requirePush(t *testing.T, messages <-chan map[string]any, id string, finish func()) {
	t.Helper()
	acked := <-messages
	require.Equal(t, "notifications/subscriptions/acknowledged", acked["method"])
	require.Equal(t, []any{id}, acked["params"].(map[string]any)["notifications"].(map[string]any)["taskIds"])

	first := <-messages
	require.Equal(t, "notifications/tasks", first["method"], "%v", first)
	params := first["params"].(map[string]any)
	require.Equal(t, id, params["taskId"])
	require.Equal(t, "working", params["status"])
	require.EqualValues(t, 7, params["_meta"].(map[string]any)[mcp.MetaKeySubscriptionID])
	finish()
	last := <-messages
	params = last["params"].(map[string]any)
	require.Equal(t, "completed", params["status"])
	require.NotEmpty(t, params["result"])
	end := <-messages
	require.Contains(t, end, "result")
}

func TestListeningToNothingEndsAtOnce(t *testing.T) {
	m := newManager(t, tasks.Options{})
	c := serveHTTP(t, exportServer(t, newJob(), m), m)
	messages := c.listen(t.Context(), map[string]any{"taskIds": []string{"nosuchtask"}})
	acked := <-messages
	require.NotContains(t, acked["params"].(map[string]any)["notifications"], "taskIds")
	require.Contains(t, <-messages, "result")
}

func TestListeningToTasksAndToolsTogether(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: eager})
	server := exportServer(t, j, m)
	c := serveHTTP(t, server, m)
	id := c.create(nil)
	ctx, cancel := context.WithCancel(t.Context())
	messages := c.listen(ctx, map[string]any{"taskIds": []string{id}, "toolsListChanged": true})
	acked := (<-messages)["params"].(map[string]any)["notifications"].(map[string]any)
	require.Equal(t, true, acked["toolsListChanged"])
	require.Equal(t, "working", (<-messages)["params"].(map[string]any)["status"])
	mcp.AddTool(server, &mcp.Tool{Name: "more"}, j.tool)
	require.Equal(t, "notifications/tools/list_changed", (<-messages)["method"])
	close(j.release)
	require.Equal(t, "completed", (<-messages)["params"].(map[string]any)["status"])
	cancel()
	for range messages { // ends with the client
	}
}

func TestTheRevisionWithAHandshakeHasNoTasks(t *testing.T) {
	j := newJob()
	close(j.release)
	m := newManager(t, tasks.Options{Policies: eager, ExtensionOnly: true})
	server := exportServer(t, j, m)
	client := mcp.NewClient(&mcp.Implementation{Name: "old", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{
		Extensions: map[string]any{tasks.ExtensionID: map[string]any{}}}})
	x, err := tasks.InstallClient(client, nil)
	require.NoError(t, err)
	_ = x
	cs := mcptest.ConnectClient(t, server, client, mcptest.Handshake)
	require.NotContains(t, cs.InitializeResult().Capabilities.Extensions, tasks.ExtensionID)
	res, err := call(t.Context(), cs, "export", nil)
	require.NoError(t, err)
	require.Contains(t, mcptest.Text(res), "42")
	_, err = x.Resume(t.Context(), cs, "any")
	require.ErrorContains(t, err, "method not found")
}

// raw returns the response as it is on the wire.
func (c *wireClient) raw(method string, params map[string]any) string {
	c.t.Helper()
	resp, err := http.DefaultClient.Do(c.request(c.t.Context(), method, params, nil))
	require.NoError(c.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return string(body)
}
