package peers

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// through is an example behind steady proxy, which speaks to it over the given
// transport. Over stdio it has the arguments flags as well.
func through(e *example, transport string, flags ...string) *example {
	x := &example{name: e.name, path: proxied.path}
	if transport == stdio {
		x.only = http // the other one is TestProxy
	}
	x.serve = func(t *testing.T, front string, args ...string) *server {
		t.Helper()
		line := append(append([]string{"--", e.path}, flags...), args...)
		if transport == http {
			line = []string{"-http", e.overHTTP(t, args...).url}
		}
		if front == stdio {
			return &server{example: x, args: append([]string{"proxy"}, line...)}
		}
		return x.start(t, args, append([]string{"proxy", "-listen", "localhost:0"}, line...)...)
	}
	return x
}

// throughHTTP runs a test through steady proxy with HTTP on one side or on both.
func throughHTTP(t *testing.T, e *example, flags []string, test func(*testing.T, *session)) {
	for _, transport := range []string{stdio, http} {
		t.Run("behind "+transport, func(t *testing.T) {
			t.Parallel()
			eachPeer(t, through(e, transport, flags...), test)
		})
	}
}

func TestProxyOverHTTP(t *testing.T) {
	t.Parallel()
	throughHTTP(t, quickstart, nil, useQuickstart)
}

func TestPromptsAndResourcesThroughProxy(t *testing.T) {
	t.Parallel()
	throughHTTP(t, everything, []string{"-stdio"}, readPromptsAndResources)
}

// TestCancellationThroughProxy gives up a call, which the server is told if the
// client says so.
func TestCancellationThroughProxy(t *testing.T) {
	t.Parallel()
	throughHTTP(t, orders, nil, func(t *testing.T, s *session) {
		if s.forgets {
			t.Skip("a process that makes one call has nothing to give it up with, except its own end")
		}
		s.open("-without", "tasks", "-export-takes", "1s")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := s.client.callTool(ctx, "export_orders", arguments{"status": "refunded"})
		require.Error(t, err)
		var got struct{ Written int }
		s.ok("export_orders", arguments{"status": "refunded"}, nil)
		s.same("exports_written", nil, &got)
		want := 1
		if s.silent && s.transport == http {
			want = 2
		}
		require.Equal(t, want, got.Written, fmt.Sprintf("%s over %s", s.peer.name, s.transport))
	})
}
