package otelobserve_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/observe/otelobserve"
)

// callOrder calls the server as a model does, that guesses the tool's name.
func callOrder(server *mcp.Server) {
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	ss, _ := server.Connect(context.Background(), serverEnd, nil)
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, nil)
	cs, err := client.Connect(context.Background(), clientEnd, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "getOrder", Arguments: map[string]any{}})
	_ = cs.Close()
	_ = ss.Wait()
}

// In a server the exporters are OTLP's or Prometheus'; here they print.
func Example() {
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	addTool(server, "get_order", ok)

	spans := tracetest.NewInMemoryExporter()
	tracers := trace.NewTracerProvider(trace.WithSyncer(spans))
	meters := metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	telemetry, err := otelobserve.New(&otelobserve.Options{
		TracerProvider: tracers,
		MeterProvider:  meters,
		Propagator:     propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = steady.Wrap(server, &steady.Options{Observer: telemetry}) // counters
	if err != nil {
		fmt.Println(err)
		return
	}
	server.AddReceivingMiddleware(telemetry.Middleware()) // spans, outermost

	callOrder(server)
	for _, span := range spans.GetSpans() {
		if len(span.Events) > 0 {
			fmt.Println(span.Name, span.Events[0].Name)
		}
	}
	// Output: tools/call get_order discovery.routed
}

// What a main adds: the providers of the program are global, the log is kept
// beside the counters, and the sessions are recorded before the exporters stop.
func Example_globals() {
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	telemetry, err := otelobserve.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	stack, err := steady.Wrap(server, &steady.Options{Observer: observe.Multi(telemetry, observe.Or(nil))})
	if err != nil {
		fmt.Println(err)
		return
	}
	server.AddReceivingMiddleware(telemetry.Middleware())

	// Serve. Then:
	ctx := context.Background()
	fmt.Println(stack.Close(ctx), telemetry.Close(ctx))
	// Output: <nil> <nil>
}
