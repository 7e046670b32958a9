package tasks_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/tasks"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// httptest's clients keep their connections for a while.
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))
}

// What a peer can send does not end the process, and gets an answer.
func TestHostileRequests(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: eager})
	c := serveHTTP(t, exportServer(t, j, m), m)
	id := c.create(nil)
	methods := []string{"tasks/get", "tasks/update", "tasks/cancel", "subscriptions/listen"}
	deep := strings.Repeat(`{"a":`, 900) + `1` + strings.Repeat(`}`, 900)
	for _, params := range []string{
		``, `null`, `{}`, `[]`, `7`, `{"taskId":null}`, `{"taskId":7}`, `{"taskId":{}}`, `{"taskId":""}`, `{"taskId":"\u0000"}`,
		`{"taskId":"` + strings.Repeat("x", 3<<20) + `"}`,
		`{"taskId":"` + id + `","inputResponses":null}`, `{"taskId":"` + id + `","inputResponses":[]}`,
		`{"taskId":"` + id + `","inputResponses":{"input-1":` + deep + `}}`,
		`{"notifications":{"taskIds":[null,1,{}]}}`, `{"notifications":{"taskIds":"` + id + `"}}`, `{"notifications":null}`,
		`{"notifications":{"taskIds":["` + strings.Repeat(id+`","`, 2000) + `"]}}`,
	} {
		for _, method := range methods {
			body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `"`
			if params != "" {
				body += `,"params":` + withMeta(params)
			}
			r := c.request(t.Context(), method, nil, map[string]string{"Mcp-Name": id})
			body += `}`
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
			resp, err := http.DefaultClient.Do(r)
			require.NoError(t, err, "%s %.60s", method, params)
			resp.Body.Close()
		}
	}
	require.NotEmpty(t, c.get(id)["status"])
}

// withMeta adds what every request of the newer revision needs, if params is an
// object.
func withMeta(params string) string {
	if !strings.HasPrefix(params, "{") {
		return params
	}
	meta, _ := json.Marshal(map[string]any{
		mcp.MetaKeyProtocolVersion:    mcptest.Stateless,
		mcp.MetaKeyClientCapabilities: map[string]any{"extensions": map[string]any{tasks.ExtensionID: map[string]any{}}},
	})
	sep := ","
	if params == "{}" {
		sep = ""
	}
	return `{"_meta":` + string(meta) + sep + params[1:]
}

func TestHandMadeRequestHasNoSession(t *testing.T) {
	m := newManager(t, tasks.Options{Policies: eager})
	require.NoError(t, m.Install(mcptest.Server()))
	called := false
	h := m.Middleware()(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		called = true
		return &mcp.CallToolResult{}, nil
	})
	_, err := h(t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "export"}})
	require.NoError(t, err)
	require.True(t, called)
	_, err = h(t.Context(), "tools/call", &mcp.CallToolRequest{})
	require.NoError(t, err)
}

func TestHugeHandles(t *testing.T) {
	m := newManager(t, tasks.Options{})
	server := exportServer(t, newJob(), m)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	x, err := tasks.InstallClient(client, nil)
	require.NoError(t, err)
	cs := mcptest.ConnectClient(t, server, client, "")
	_, err = x.Resume(t.Context(), cs, strings.Repeat("x", 10<<20))
	require.ErrorContains(t, err, "Task not found")
	require.Less(t, len(err.Error()), 1000)

	cs = mcptest.Connect(t, server, "")
	huge := strings.Repeat("x", 100<<10)
	for _, tool := range []string{"task_status", "task_result", "task_cancel", "task_answer"} {
		res, err := call(t.Context(), cs, tool, args{"task_id": huge, "answers": args{}})
		require.NoError(t, err)
		require.True(t, res.IsError)
		require.Less(t, len(mcptest.Text(res)), 1000)
	}
}
