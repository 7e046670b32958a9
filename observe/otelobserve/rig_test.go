package otelobserve_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/steadymcp/steady/observe/otelobserve"
)

var revisions = []string{"2025-11-25", "2026-07-28"}

var w3c = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// A rig is a Telemetry whose spans and metrics can be read.
type rig struct {
	*otelobserve.Telemetry
	spans  *tracetest.InMemoryExporter
	tracer *trace.TracerProvider
	reader *metric.ManualReader
}

func newRig(t testing.TB, change ...func(*otelobserve.Options)) *rig {
	t.Helper()
	r := &rig{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	r.tracer = trace.NewTracerProvider(trace.WithSyncer(r.spans))
	opts := &otelobserve.Options{TracerProvider: r.tracer, MeterProvider: metric.NewMeterProvider(metric.WithReader(r.reader)), Propagator: w3c}
	for _, c := range change {
		c(opts)
	}
	tel, err := otelobserve.New(opts)
	require.NoError(t, err)
	r.Telemetry = tel
	return r
}

// span returns the only span with a name.
func (r *rig) span(t testing.TB, name string) tracetest.SpanStub {
	t.Helper()
	var found []tracetest.SpanStub
	var names []string
	for _, s := range r.spans.GetSpans() {
		names = append(names, s.Name)
		if s.Name == name {
			found = append(found, s)
		}
	}
	require.Len(t, found, 1, "spans named %q among %q", name, names)
	return found[0]
}

// A point is one series of a metric.
type point struct {
	attrs map[string]string
	value float64 // of a counter
	count uint64  // of a histogram
}

// points returns the series of a metric.
func (r *rig) points(t testing.TB, name string) []point {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(context.Background(), &rm))
	var points []point
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					points = append(points, point{attrs: texts(p.Attributes.ToSlice()), value: float64(p.Value)})
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					points = append(points, point{attrs: texts(p.Attributes.ToSlice()), value: p.Sum, count: p.Count})
				}
			default:
				t.Fatalf("%s is a %T", name, data)
			}
		}
	}
	return points
}

// sum adds up the series of a counter that have all of these attributes.
func (r *rig) sum(t testing.TB, name string, attrs ...string) float64 {
	t.Helper()
	total := 0.0
points:
	for _, p := range r.points(t, name) {
		for i := 0; i < len(attrs); i += 2 {
			if p.attrs[attrs[i]] != attrs[i+1] {
				continue points
			}
		}
		total += p.value
	}
	return total
}

func texts(attrs []attribute.KeyValue) map[string]string {
	m := map[string]string{}
	for _, kv := range attrs {
		m[string(kv.Key)] = kv.Value.String()
	}
	return m
}

func newServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v0.0.1"}, nil)
}

// inMemory connects a client to server.
func inMemory(t testing.TB, server *mcp.Server, revision string) *mcp.ClientSession {
	t.Helper()
	ctx := context.Background()
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	ss, err := server.Connect(ctx, serverEnd, nil)
	require.NoError(t, err)
	cs, err := newClient().Connect(ctx, clientEnd, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = cs.Close()
		_ = ss.Wait()
	})
	return cs
}

func newClient() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v0.0.1"}, nil)
}

// overHTTP connects a client to server over streamable HTTP.
func overHTTP(t testing.TB, server *mcp.Server, revision string) *mcp.ClientSession {
	t.Helper()
	return connectHTTP(t, newHandler(server, revision), revision)
}

// newHandler serves the revision without handshakes from a handler without
// sessions: with sessions the SDK offers the older one only.
func newHandler(server *mcp.Server, revision string) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: revision == revisions[1]})
}

func connectHTTP(t testing.TB, handler http.Handler, revision string, before ...func(*http.Request)) *mcp.ClientSession {
	t.Helper()
	hs := httptest.NewServer(handler)
	t.Cleanup(hs.Close)
	cs, err := newClient().Connect(context.Background(), &mcp.StreamableClientTransport{
		Endpoint: hs.URL, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: changing(before)},
	}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// both runs a test under both revisions, in memory and over HTTP.
func both(t *testing.T, test func(t *testing.T, revision string, http bool, connect func(testing.TB, *mcp.Server, string) *mcp.ClientSession)) {
	for _, revision := range revisions {
		t.Run(revision+"/memory", func(t *testing.T) { test(t, revision, false, inMemory) })
		t.Run(revision+"/http", func(t *testing.T) { test(t, revision, true, overHTTP) })
	}
}

func metricNames(t testing.TB, r *rig) []string {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(context.Background(), &rm))
	var names []string
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			names = append(names, m.Name)
		}
	}
	return names
}

// changing is an HTTP transport that changes requests before it sends them.
type changing []func(*http.Request)

func (c changing) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for _, change := range c {
		change(req)
	}
	return http.DefaultTransport.RoundTrip(req)
}
