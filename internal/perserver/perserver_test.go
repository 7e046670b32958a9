package perserver_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/perserver"
)

func newServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "s", Version: "v1"}, nil)
}

func TestMapHoldsOneValueForEachServer(t *testing.T) {
	var m perserver.Map[string]
	a, b := newServer(), newServer()
	require.Empty(t, m.Get(a))
	require.True(t, m.Claim(a, "first"))
	require.False(t, m.Claim(a, "second"))
	require.Equal(t, "first", m.Get(a))
	require.Empty(t, m.Get(b))
	m.Release(a)
	require.True(t, m.Claim(a, "second"))
	require.Equal(t, "second", m.Get(a))
}

func TestMapKeepsNoServerAlive(t *testing.T) {
	var m perserver.Map[int]
	gone := make(chan struct{})
	func() {
		server := newServer()
		require.True(t, m.Claim(server, 1))
		runtime.AddCleanup(server, func(int) { close(gone) }, 0)
	}()
	require.Eventually(t, func() bool {
		runtime.GC()
		select {
		case <-gone:
			return true
		default:
			return false
		}
	}, 10*time.Second, time.Millisecond)
}
