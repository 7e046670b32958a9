package steady_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
)

type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer ada")
	return http.DefaultTransport.RoundTrip(r)
}

// One manager serves the servers of all requests: a handle that one of them has
// given out is answered by the next.
func TestWrapWithOneTaskManagerForManyServers(t *testing.T) {
	manager := tasks.New(&tasks.Options{Observer: observe.Discard, Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager}}})
	release := make(chan struct{})
	stacks := make(chan *steady.Stack, 100)
	endpoint := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		server := mcptest.Server()
		mcp.AddTool(server, &mcp.Tool{Name: "export"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			<-release
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "exported"}}}, nil, nil
		})
		stack, err := steady.Wrap(server, &steady.Options{Observer: observe.Discard, TaskManager: manager})
		if err != nil {
			t.Error(err)
		}
		stacks <- stack
		return server
	}, &mcp.StreamableHTTPOptions{Stateless: true})
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	web := httptest.NewServer(auth.RequireBearerToken(verify, nil)(endpoint))
	defer web.Close()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: &http.Client{Transport: bearer{}}}, nil)
	require.NoError(t, err)
	defer session.Close()

	first, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "export"})
	require.NoError(t, err)
	id := first.Meta["steady/task"].(map[string]any)["taskId"]
	require.NotEmpty(t, id)
	again, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "export"})
	require.NoError(t, err)
	require.Equal(t, id, again.Meta["steady/task"].(map[string]any)["taskId"])
	require.Greater(t, len(stacks), 1, "each request has a server of its own")
	require.NoError(t, (<-stacks).Close(t.Context()), "closing the stack of one request leaves the tasks alone")
	close(release)
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "task_result", Arguments: map[string]any{"task_id": id}})
	require.NoError(t, err)
	require.Equal(t, "exported", mcptest.Text(result))
	require.NoError(t, manager.Close(t.Context()))
}
