package otelobserve

import (
	"context"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// ScopeName is the instrumentation scope of all spans and metrics.
const ScopeName = "github.com/steadymcp/steady/observe/otelobserve"

// Options configures a [Telemetry]. The zero value is ready to use.
type Options struct {
	// TracerProvider makes the tracer. If nil, otel.GetTracerProvider().
	TracerProvider trace.TracerProvider
	// MeterProvider makes the meter. If nil, otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
	// Propagator reads the trace context that clients send. If nil,
	// otel.GetTextMapPropagator(), which reads nothing until the program has
	// called otel.SetTextMapPropagator.
	Propagator propagation.TextMapPropagator
	// PublicEndpoint is for servers whose clients are not trusted to choose the
	// trace: the client's span is linked, it is not the parent, and the client's
	// baggage is dropped. If false, a client that sets the sampled flag is
	// followed by samplers that follow parents.
	PublicEndpoint bool
	// ResourceURIs adds mcp.resource.uri to the spans of requests that name a
	// resource, cut at 1,024 bytes. It is what the caller sent. It is never on a
	// metric.
	ResourceURIs bool
}

// A Telemetry reports one server or many. It is safe for concurrent use.
type Telemetry struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	public     bool
	uris       bool

	instruments instruments
	tools       names
	prompts     names
	series      seriesCache
	values      valueSets
	runs        runs
	spans       atomic.Bool // there is middleware, so tasks have spans as well

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
	watchers sync.WaitGroup
}

// New returns a Telemetry. A nil opts means the zero Options. It fails if the
// meter refuses an instrument.
func New(opts *Options) (*Telemetry, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	if o.Propagator == nil {
		o.Propagator = otel.GetTextMapPropagator()
	}
	t := &Telemetry{
		tracer:     o.TracerProvider.Tracer(ScopeName),
		propagator: o.Propagator,
		public:     o.PublicEndpoint,
		uris:       o.ResourceURIs,
		sessions:   map[*session]struct{}{},
	}
	var err error
	t.instruments, err = newInstruments(o.MeterProvider.Meter(ScopeName))
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Close waits for the sessions to end, as long as ctx allows, and records those
// that are still open as if they ended now; the error says how many. Sessions
// that begin afterwards are not measured, everything else still is. Call it
// after the servers have stopped and before the providers are shut down.
func (t *Telemetry) Close(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	return t.closeSessions(ctx)
}
