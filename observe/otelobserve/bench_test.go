package otelobserve_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/observe/otelobserve"
)

// nowhere is an exporter that drops spans.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []trace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                          { return nil }

// BenchmarkCall compares a call in memory with and without a Telemetry.
//
//	noop     the middleware, providers that do nothing
//	sdk      the middleware, every span recorded, batched and dropped
//	unsampled  the same with a sampler that takes no span
//	wrapped  steady.Wrap without, and with both halves: what observing adds
func BenchmarkCall(b *testing.B) {
	noop := &otelobserve.Options{TracerProvider: nooptrace.NewTracerProvider(), MeterProvider: noopmetric.NewMeterProvider(), Propagator: w3c}
	sdk := func(b *testing.B, sampler trace.Sampler) *otelobserve.Options {
		tp := trace.NewTracerProvider(trace.WithBatcher(nowhere{}), trace.WithSampler(sampler))
		b.Cleanup(func() { _ = tp.Shutdown(context.Background()) })
		return &otelobserve.Options{TracerProvider: tp, MeterProvider: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())), Propagator: w3c}
	}
	bare := func(*mcp.Server) {}
	with := func(opts *otelobserve.Options) func(*mcp.Server) {
		return func(s *mcp.Server) { s.AddReceivingMiddleware(telemetry(b, opts).Middleware()) }
	}
	b.Run("noop", func(b *testing.B) { compare(b, caller(b, bare), caller(b, with(noop))) })
	b.Run("sdk", func(b *testing.B) { compare(b, caller(b, bare), caller(b, with(sdk(b, trace.AlwaysSample())))) })
	b.Run("unsampled", func(b *testing.B) { compare(b, caller(b, bare), caller(b, with(sdk(b, trace.NeverSample())))) })
	b.Run("wrapped", func(b *testing.B) {
		wrap := func(s *mcp.Server, o observe.Observer) {
			_, err := steady.Wrap(s, &steady.Options{Observer: o})
			require.NoError(b, err)
		}
		tel := telemetry(b, sdk(b, trace.AlwaysSample()))
		compare(b,
			caller(b, func(s *mcp.Server) { wrap(s, observe.Discard) }),
			caller(b, func(s *mcp.Server) { wrap(s, tel); s.AddReceivingMiddleware(tel.Middleware()) }))
	})
}

func telemetry(b *testing.B, opts *otelobserve.Options) *otelobserve.Telemetry {
	tel, err := otelobserve.New(opts)
	require.NoError(b, err)
	return tel
}

// caller returns a function that calls a tool of a server.
func caller(b *testing.B, install func(*mcp.Server)) func() {
	server := newServer()
	addTool(server, "get_order", ok)
	install(server)
	cs := inMemory(b, server, revisions[0])
	params := &mcp.CallToolParams{Name: "get_order", Arguments: map[string]any{}}
	return func() {
		if _, err := cs.CallTool(context.Background(), params); err != nil {
			b.Fatal(err)
		}
	}
}

// compare runs both in turns, so that what disturbs the machine disturbs both.
func compare(b *testing.B, base, other func()) {
	sides := [2]func(){base, other}
	var allocs [2]float64
	for i, do := range sides {
		const calls = 200
		do()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			do()
		}
		runtime.ReadMemStats(&after)
		allocs[i] = float64(after.Mallocs-before.Mallocs) / calls
	}
	var times [2][]float64
	for b.Loop() {
		first := len(times[0]) % 2
		for _, i := range [2]int{first, 1 - first} {
			start := time.Now()
			sides[i]()
			times[i] = append(times[i], float64(time.Since(start))/1000)
		}
	}
	var us [2]float64
	for i := range times {
		slices.Sort(times[i])
		us[i] = times[i][len(times[i])/2]
	}
	b.ReportMetric(us[1]/us[0], "ratio")
	b.ReportMetric(allocs[1]-allocs[0], "more-allocs")
	b.ReportMetric(us[1]-us[0], "more-us")
	b.ReportMetric(0, "ns/op")
}
