package otelobserve

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// A session is one that a client opened with a handshake. From revision
// 2026-07-28 on there are none.
type session struct {
	start time.Time
	attrs []attribute.KeyValue
	once  sync.Once
}

// watch measures the session that req, an initialize, has opened.
func (t *Telemetry) watch(req mcp.Request, start time.Time, k target) {
	ss := sessionOf(req)
	if ss == nil || k.http && ss.ID() == "" { // a stateless server: the session is the request
		return
	}
	s := &session{start: start, attrs: newSeries(target{version: k.version, http: k.http}).attrs}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	t.sessions[s] = struct{}{}
	t.watchers.Add(1)
	t.mu.Unlock()
	t.instruments.sessions.Add(context.Background(), 1, metric.WithAttributes(s.attrs...))
	go func() {
		defer t.watchers.Done()
		err := ss.Wait()
		t.end(s, err)
	}()
}

// end records a session, once.
func (t *Telemetry) end(s *session, err error) {
	s.once.Do(func() {
		t.mu.Lock()
		delete(t.sessions, s)
		t.mu.Unlock()
		t.instruments.sessions.Add(context.Background(), -1, metric.WithAttributes(s.attrs...))
		attrs := slices.Clone(s.attrs)
		if err != nil {
			attrs = append(attrs, keyErrorType.String(other))
		}
		t.instruments.session.Record(context.Background(), time.Since(s.start).Seconds(), metric.WithAttributes(attrs...))
	})
}

func (t *Telemetry) closeSessions(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		t.watchers.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	open := make([]*session, 0, len(t.sessions))
	for s := range t.sessions {
		open = append(open, s)
	}
	t.mu.Unlock()
	for _, s := range open {
		t.end(s, nil)
	}
	if len(open) == 0 {
		return nil
	}
	return fmt.Errorf("otelobserve: %d sessions were still open and are recorded as if they had ended now: %w", len(open), ctx.Err())
}
