package errors_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
)

// deskVar makes the test binary a server on stdio.
const deskVar = "STEADY_ERRORS_DESK"

func TestMain(m *testing.M) {
	if os.Getenv(deskVar) != "" {
		s := everySecondPanics()
		if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// everySecondPanics returns a desk whose first, third, ... call panics.
func everySecondPanics() *mcp.Server {
	var calls atomic.Int64
	s := desk(func() error {
		if calls.Add(1)%2 == 1 {
			panic("secret")
		}
		return nil
	})
	s.AddReceivingMiddleware(errors.Shape(nil))
	return s
}

func deskClient(t *testing.T) *mcp.Client {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v0.0.1"}, nil)
	require.NoError(t, mcp.AddSendingCustomMethod[*customParams, *customResult](c, "desk/custom"))
	return c
}

func requirePanicAnswered(t *testing.T, cs *mcp.ClientSession, handler string) {
	t.Helper()
	r, err := reach(t, cs, handler)
	if r != nil {
		require.True(t, r.IsError, handler)
		require.Equal(t, "internal error (incident ID)", sans(mcptest.Text(r)), handler)
		return
	}
	e := rpcError(t, err)
	require.EqualValues(t, -32603, e.Code, handler)
	require.Equal(t, "internal error (incident ID)", sans(e.Message), handler)
}

func requireSuccess(t *testing.T, cs *mcp.ClientSession, handler string) {
	t.Helper()
	r, err := reach(t, cs, handler)
	require.NoError(t, err, handler)
	require.False(t, r != nil && r.IsError, handler)
}

func TestPanicsOverStdio(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), deskVar+"=1")
		cs, err := deskClient(t).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
		require.NoError(t, err)
		for _, h := range handlers {
			requirePanicAnswered(t, cs, h)
			requireSuccess(t, cs, h)
		}
		require.NoError(t, cs.Close())
	}
}

func TestPanicsOverHTTP(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		s := everySecondPanics()
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
			Stateless: revision == mcptest.Stateless,
		}))
		var sessions []*mcp.ClientSession
		for range 2 {
			cs, err := deskClient(t).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: web.Client()}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
			require.NoError(t, err)
			sessions = append(sessions, cs)
		}
		for _, h := range handlers {
			requirePanicAnswered(t, sessions[0], h)
			requireSuccess(t, sessions[0], h)
			requirePanicAnswered(t, sessions[0], h)
			requireSuccess(t, sessions[1], h)
		}
		for _, cs := range sessions {
			require.NoError(t, cs.Close())
		}
		web.Close()
	}
}
