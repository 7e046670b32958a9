package otelobserve

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/steadymcp/steady/tasks"
)

// maxRuns bounds the tasks whose calls are remembered; the oldest is forgotten
// first, and its span has no parent.
const maxRuns = 4096

// runs are the calls that tasks were created for, by the tasks' ids: a task may
// end in the context of another request, the one that cancels it.
type runs struct {
	mu    sync.Mutex
	calls map[string]*call
	order []string // a ring of what was put, once it is full
	next  int
}

func (r *runs) put(id string, c *call) {
	if c == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = map[string]*call{}
	}
	r.calls[id] = c
	if len(r.order) < maxRuns {
		r.order = append(r.order, id)
		return
	}
	delete(r.calls, r.order[r.next])
	r.order[r.next] = id
	r.next = (r.next + 1) % maxRuns
}

// take returns the call of a task, once.
func (r *runs) take(id string) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[id]
	delete(r.calls, id)
	return c
}

// background makes the span of a task that went on after its call was answered.
// It begins when the call did, and a trace of its own where the call, nil then,
// came in to another process.
func (t *Telemetry) background(ctx context.Context, c *call, e tasks.Ended) {
	if c == nil && !t.spans.Load() || c != nil && !c.answered.Load() {
		return
	}
	now := time.Now()
	tool := t.tools.bounded(e.Tool)
	opts := []trace.SpanStartOption{
		trace.WithTimestamp(now.Add(-e.Ran)),
		trace.WithAttributes(keyTool.String(tool), keyTask.String(e.Task), t.values.attr(keyState, string(e.Status))),
	}
	if c != nil {
		ctx = trace.ContextWithSpan(ctx, c.span)
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: c.span.SpanContext()}))
	} else {
		opts = append(opts, trace.WithNewRoot())
	}
	_, span := t.tracer.Start(ctx, "task "+tool, opts...)
	if c != nil {
		if id := c.told.Load(); id != nil {
			span.SetAttributes(keyIncident.String(*id))
		}
	}
	switch {
	case e.Status == tasks.Failed:
		span.SetAttributes(keyErrorType.String(other))
		span.SetStatus(codes.Error, "")
	case e.ToolError:
		span.SetAttributes(keyErrorType.String(errorTool))
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(now))
}
