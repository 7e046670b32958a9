package tasks_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

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
