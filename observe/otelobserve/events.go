package otelobserve

import (
	"context"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/catalog"
	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/limits"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/pagination"
	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/stdioguard"
	"github.com/steadymcp/steady/tasks"
)

var _ observe.Observer = (*Telemetry)(nil)

// Observe implements [observe.Observer]. It counts e, and notes it in the span
// of the call that it belongs to. Events of other packages than steady's count
// as steady.events, by name.
func (t *Telemetry) Observe(ctx context.Context, e observe.Event) {
	if e == nil {
		return
	}
	c := callFrom(ctx)
	name := t.values.attr(keyEvent, e.EventName())
	t.instruments.events.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(name, keyLevel.String(levelOf(e)))))
	if e, ok := e.(discovery.Exact); ok { // what should happen: nothing else to say
		t.tools.add(e.Tool)
		return
	}
	n := note{t: t, ctx: ctx}
	n.count(e, c)
	switch e := e.(type) {
	case tasks.Created:
		t.runs.put(e.Task, c)
	case tasks.Ended:
		t.background(ctx, t.runs.take(e.Task), e)
	}
	if c != nil && c.span.IsRecording() {
		c.span.AddEvent(name.Value.AsString(), trace.WithAttributes(n.seen...))
	}
}

// A note counts one event and keeps the attributes for the span.
type note struct {
	t    *Telemetry
	ctx  context.Context
	seen []attribute.KeyValue
}

// add adds to a counter. Attributes without a key are left out.
func (n *note) add(counter metric.Int64Counter, by int64, attrs ...attribute.KeyValue) {
	attrs = slices.DeleteFunc(attrs, func(kv attribute.KeyValue) bool { return !kv.Valid() })
	n.seen = attrs
	counter.Add(n.ctx, by, metric.WithAttributeSet(attribute.NewSet(attrs...)))
}

func (n *note) value(key attribute.Key, value string) attribute.KeyValue {
	return n.t.values.attr(key, value)
}

// tool is a tool's name that may come from a client. It is no attribute if it is
// empty: the event is about something else.
func (n *note) tool(name string) attribute.KeyValue {
	if name == "" {
		return attribute.KeyValue{}
	}
	return keyTool.String(n.t.tools.bounded(name))
}

// ours is a tool's name that the server gave.
func (n *note) ours(name string) attribute.KeyValue {
	n.t.tools.add(name)
	return n.tool(name)
}

// of is the name that a request of method has.
func (n *note) of(method, name string) attribute.KeyValue {
	switch {
	case method == "tools/call":
		return n.tool(name)
	case method == "prompts/get" && name != "":
		return keyPrompt.String(n.t.prompts.bounded(name))
	}
	return attribute.KeyValue{}
}

// routed counts a name that was rewritten, and remembers what it became.
func (n *note) routed(e discovery.Routed, c *call) {
	part := "resource"
	switch e.Method {
	case "tools/call":
		part = "name"
		n.t.tools.add(e.Tool)
	case "prompts/get":
		part = "prompt"
		n.t.prompts.add(e.Tool)
	}
	n.add(n.t.instruments.rewrites, 1, keyPart.String(part), n.value(keyStep, string(e.Step)), n.of(e.Method, e.Tool))
	c.reached(e.Requested, e.Tool)
}

func (n *note) count(e observe.Event, c *call) {
	i := &n.t.instruments
	switch e := e.(type) {
	case observe.Dropped:
		n.add(i.dropped, int64(e.Events))

	case errors.Panicked:
		n.add(i.panics, 1, n.of(e.Method, e.Name))
		c.incident(e.Incident)
	case errors.Hidden:
		n.add(i.failures, 1, keyKind.String("hidden"), n.of(e.Method, e.Name))
		c.incident(e.Incident)
	case errors.Failed:
		kind := keyKind.String("none")
		if e.Kind != "" {
			kind = n.value(keyKind, string(e.Kind))
		}
		n.add(i.failures, 1, kind, n.of(e.Method, e.Name))
		c.incident(e.Incident)

	case discovery.Routed:
		n.routed(e, c)
	case discovery.Repaired:
		n.add(i.rewrites, 1, keyPart.String("argument"), n.value(keyStep, e.Kind), n.ours(e.Tool))
	case discovery.Suggested:
		n.add(i.suggestions, 1)
	case discovery.Missed:
		n.add(i.misses, 1)
	case discovery.Refused:
		n.add(i.unfit, 1, n.ours(e.Tool))

	case limits.Refused:
		n.add(i.refusals, 1, n.value(keyReason, e.Reason), n.value(keyBound, e.Bound), n.tool(e.Tool))
	case limits.Overran:
		n.add(i.timeouts, 1, n.tool(e.Tool))

	case pagination.Cut:
		n.add(i.cuts, 1, n.tool(e.Tool))
		if e.Kept {
			n.add(i.spills, 1, n.tool(e.Tool))
		}
	case pagination.Refused:
		n.add(i.tooLarge, 1, n.tool(e.Tool))
	case pagination.CursorRejected:
		n.add(i.cursors, 1, n.value(keyReason, string(e.Reason)), n.tool(e.Tool))

	case registry.FormerNameCalled:
		n.add(i.former, 1, n.value(keyFormer, e.Name), keyGone.Bool(e.Gone), n.ours(e.Tool))
		c.reached(e.Name, e.Tool)

	case tasks.Created:
		n.task("created", e.Tool)
	case tasks.Joined:
		n.task("joined", e.Tool)
	case tasks.Ended:
		attrs := []attribute.KeyValue{n.value(keyState, string(e.Status)), n.ours(e.Tool)}
		if e.ToolError {
			attrs = append(attrs, keyErrorType.String(errorTool))
		}
		n.add(i.tasks, 1, attrs...)
		i.taskDuration.Record(n.ctx, e.Ran.Seconds(), metric.WithAttributeSet(attribute.NewSet(attrs...)))
	case tasks.Lost:
		n.task("lost", e.Tool)
	case tasks.HandedOver:
		n.task("handed_over", e.Tool)
	case tasks.Dropped:
		n.task("dropped", e.Tool)
	case tasks.Refused:
		n.add(i.tasks, 1, keyState.String("refused"), n.value(keyReason, e.Reason), n.tool(e.Tool))
	case tasks.Panicked:
		n.add(i.panics, 1, n.tool(e.Tool))
		c.incident(e.Incident)
	case tasks.Denied:
		n.add(i.denials, 1, n.value(keyReason, e.Reason))
	case tasks.OperationFailed:
		n.add(i.operations, 1, n.value(keyReason, e.Operation))

	case catalog.Called:
		var attrs []attribute.KeyValue
		if e.Failed {
			attrs = append(attrs, keyErrorType.String(errorTool))
		}
		n.add(i.calls, 1, attrs...)
	case catalog.Missed:
		n.add(i.unfound, 1, keyWeak.Bool(e.Weak))

	case stdioguard.Diverted:
		n.add(i.divertedSize, e.Bytes)
		n.add(i.diverted, e.Lines)
	case stdioguard.Rejected:
		n.add(i.rejected, e.Count)
	case stdioguard.Cancelled:
		n.add(i.cancelled, int64(e.InFlight))
	case stdioguard.Abandoned:
		n.add(i.abandoned, int64(e.InFlight))
	case stdioguard.Missed:
		var missed int64
		for _, count := range e.Events {
			missed += int64(count)
		}
		n.add(i.dropped, missed)

	case steady.TurnedAway:
		n.add(i.turnedAway, 1, n.value(keyReason, e.Reason))
	case steady.Cancelled:
		n.add(i.cancelled, int64(e.Calls))
	}
}

// task counts a task. Only tools with a policy have any, so the name is ours: a
// process that runs the tasks of others may meet it here first.
func (n *note) task(state, tool string) {
	n.add(n.t.instruments.tasks, 1, keyState.String(state), n.ours(tool))
}

// reached notes under which name the server has what the call asked for. Where the
// name is known that must be about this call: a handler may call other tools.
func (c *call) reached(asked, name string) {
	if c != nil && (!c.known || c.asked == asked) {
		c.routed.Store(&name)
	}
}

// incident puts the id that the client is given on the call's span, where the
// operator can look for it. If that has ended, the span of the task gets it.
func (c *call) incident(id string) {
	if c != nil && id != "" {
		c.told.Store(&id)
		c.span.SetAttributes(keyIncident.String(id))
	}
}

// levelOf returns the name of the level of e, one of four.
func levelOf(e observe.Event) string {
	level := slog.LevelInfo
	if l, ok := e.(observe.Leveler); ok {
		level = l.EventLevel()
	}
	switch {
	case level < slog.LevelInfo:
		return "DEBUG"
	case level < slog.LevelWarn:
		return "INFO"
	case level < slog.LevelError:
		return "WARN"
	}
	return "ERROR"
}
