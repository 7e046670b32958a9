package tasks_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
)

// events collects what is observed.
type events struct {
	mu   sync.Mutex
	seen []observe.Event
}

func newEvents() *events { return &events{} }

func (e *events) Observe(_ context.Context, ev observe.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, ev)
}

func (e *events) all() []observe.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]observe.Event(nil), e.seen...)
}

// What the client is told of a panic leads the operator to it.
func TestPanicHasAnIncident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := newEvents()
		m := newManager(t, tasks.Options{Observer: seen, Policies: map[string]tasks.Policy{"export": {}}})
		server := mcptest.Server()
		require.NoError(t, m.Install(server))
		c := &counter{fail: func(int) error { panic("dial postgres://desk:hunter2@db/orders") }}
		mcp.AddTool(server, &mcp.Tool{Name: "export"}, c.tool)
		_, err := call(t.Context(), mcptest.Connect(t, server, ""), "export", args{})
		require.NoError(t, m.Close(t.Context()))
		for _, e := range seen.all() {
			if e, ok := e.(tasks.Panicked); ok {
				require.Len(t, e.Incident, 12)
				require.ErrorContains(t, err, "internal error (incident "+e.Incident+")")
				require.Contains(t, e.LogValue().String(), "db/orders")
				require.NotContains(t, e.LogValue().String(), "hunter2")
				return
			}
		}
		require.Fail(t, "the panic was not observed")
	})
}

func TestEventsCanBeLogged(t *testing.T) {
	var b strings.Builder
	log := observe.Slog(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})))
	for _, e := range []observe.Event{tasks.Created{}, tasks.Joined{}, tasks.Ended{Cause: context.Canceled}, tasks.Panicked{},
		tasks.Dropped{}, tasks.Denied{}, tasks.Refused{}, tasks.Lost{}, tasks.OperationFailed{Err: context.Canceled}} {
		require.True(t, strings.HasPrefix(e.EventName(), "tasks."))
		log.Observe(t.Context(), e)
		require.Contains(t, b.String(), e.EventName())
	}
}
