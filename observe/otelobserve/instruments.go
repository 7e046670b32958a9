package otelobserve

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// instruments are all metrics of the module.
type instruments struct {
	operation, session metric.Float64Histogram
	sessions           metric.Int64UpDownCounter

	events       metric.Int64Counter
	dropped      metric.Int64Counter
	failures     metric.Int64Counter
	panics       metric.Int64Counter
	rewrites     metric.Int64Counter
	suggestions  metric.Int64Counter
	misses       metric.Int64Counter
	unfit        metric.Int64Counter
	refusals     metric.Int64Counter
	timeouts     metric.Int64Counter
	cuts         metric.Int64Counter
	spills       metric.Int64Counter
	tooLarge     metric.Int64Counter
	cursors      metric.Int64Counter
	former       metric.Int64Counter
	tasks        metric.Int64Counter
	taskDuration metric.Float64Histogram
	denials      metric.Int64Counter
	operations   metric.Int64Counter
	calls        metric.Int64Counter
	unfound      metric.Int64Counter
	divertedSize metric.Int64Counter
	diverted     metric.Int64Counter
	rejected     metric.Int64Counter
	turnedAway   metric.Int64Counter
	cancelled    metric.Int64Counter
	abandoned    metric.Int64Counter
}

// The bounds that the conventions ask for, in seconds, and those of tasks, which
// take longer.
var (
	bounds     = metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
	taskBounds = metric.WithExplicitBucketBoundaries(1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400)
)

func newInstruments(meter metric.Meter) (instruments, error) {
	var i instruments
	var errs []error
	histogram := func(to *metric.Float64Histogram, name, about string, b metric.HistogramOption) {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about), b)
		*to, errs = h, append(errs, err)
	}
	counter := func(to *metric.Int64Counter, name, unit, about string) {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
		*to, errs = c, append(errs, err)
	}
	histogram(&i.operation, "mcp.server.operation.duration", "MCP request or notification duration as observed on the receiver from the time it was received until the result or ack is sent.", bounds)
	histogram(&i.session, "mcp.server.session.duration", "The duration of the MCP session as observed on the MCP server.", bounds)
	sessions, err := meter.Int64UpDownCounter("steady.sessions.active", metric.WithUnit("{session}"), metric.WithDescription("Sessions that were opened by a handshake and have not ended."))
	i.sessions, errs = sessions, append(errs, err)

	counter(&i.events, "steady.events", "{event}", "Events of the packages of steady, by name and level.")
	counter(&i.dropped, "steady.events.dropped", "{event}", "Events that were left out because an observer did not take them.")
	counter(&i.failures, "steady.failures", "{call}", "Calls that were answered with a failure, by its kind. Hidden: the client was given an incident id.")
	counter(&i.panics, "steady.panics", "{panic}", "Panics of handlers that were recovered.")
	counter(&i.rewrites, "steady.discovery.rewrites", "{rewrite}", "Names of tools and arguments that were rewritten.")
	counter(&i.suggestions, "steady.discovery.suggestions", "{call}", "Calls of unknown tools that were answered with names.")
	counter(&i.misses, "steady.discovery.misses", "{call}", "Calls of unknown tools that nothing could be proposed for.")
	counter(&i.unfit, "steady.discovery.refusals", "{call}", "Calls whose arguments could not be repaired.")
	counter(&i.refusals, "steady.limits.refusals", "{call}", "Calls that were not started.")
	counter(&i.timeouts, "steady.limits.timeouts", "{call}", "Calls that were answered because their deadline had passed.")
	counter(&i.cuts, "steady.pagination.cuts", "{result}", "Results that were shortened.")
	counter(&i.spills, "steady.pagination.spills", "{result}", "Results that were shortened and kept whole for read_result.")
	counter(&i.tooLarge, "steady.pagination.refusals", "{result}", "Results that were too large and could not be shortened.")
	counter(&i.cursors, "steady.pagination.cursor_rejections", "{call}", "Cursors that were not followed.")
	counter(&i.former, "steady.registry.former_names", "{call}", "Calls of tools by a name that they used to have.")
	counter(&i.tasks, "steady.tasks", "{task}", "Tasks that reached a state: created, joined, completed, failed, cancelled, lost, handed_over, dropped, refused.")
	histogram(&i.taskDuration, "steady.task.duration", "Time from the call of a task to its end.", taskBounds)
	counter(&i.denials, "steady.tasks.denials", "{call}", "Handles of tasks that were not answered for.")
	counter(&i.operations, "steady.tasks.operation_failures", "{failure}", "What tasks need and what did not work: the store above all.")
	counter(&i.calls, "steady.catalog.calls", "{call}", "Calls of a catalog's entries.")
	counter(&i.unfound, "steady.catalog.misses", "{call}", "Questions that a catalog found nothing for, or only weak hits.")
	counter(&i.divertedSize, "steady.stdio.diverted.size", "By", "Bytes of other text than the protocol's that were printed to standard output.")
	counter(&i.diverted, "steady.stdio.diverted.lines", "{line}", "Lines of other text than the protocol's that were printed to standard output.")
	counter(&i.rejected, "steady.stdio.rejections", "{message}", "Messages that were not passed on.")
	counter(&i.turnedAway, "steady.http.refusals", "{request}", "HTTP requests that were refused before they were calls.")
	counter(&i.cancelled, "steady.shutdown.cancelled", "{call}", "Calls that were cancelled because the server had to stop.")
	counter(&i.abandoned, "steady.shutdown.abandoned", "{call}", "Calls without a reply when the server stopped.")
	return i, errors.Join(errs...)
}
