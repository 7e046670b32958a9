package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks"
)

// The official suite asks the server over HTTP; this does so with a client of
// our own, without Node.
func TestServer(t *testing.T) {
	handler, stop, err := newHandler()
	require.NoError(t, err)
	defer stop()
	s := httptest.NewServer(handler)
	defer s.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "v0.0.1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "confirm": true}}, nil
		},
	})
	x, err := tasks.InstallClient(client, nil)
	require.NoError(t, err)
	cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL + "/mcp",
		HTTPClient: &http.Client{Transport: x.RoundTripper(nil)}}, nil)
	require.NoError(t, err)
	defer cs.Close()

	for tool, want := range map[string]string{
		"greet":               "Hello, Ada!",
		"slow_compute":        `computed "x" in 0.01 s`,
		"confirm_delete":      "deletion: accept",
		"multi_input":         "answers: [accept accept]",
		"test_tool_with_task": "Hello, Ada!",
	} {
		args := map[string]map[string]any{"greet": {"name": "Ada"}, "slow_compute": {"seconds": 0.01, "label": "x"}}[tool]
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		require.NoError(t, err, tool)
		require.Equal(t, want, res.Content[0].(*mcp.TextContent).Text, tool)
	}
	_, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "protocol_error_job"})
	require.ErrorContains(t, err, "broke the protocol")
}
