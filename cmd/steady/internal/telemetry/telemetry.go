// Package telemetry sends what the proxy does to an OTLP endpoint. It is the program's
// part of package otelobserve: the SDK of OpenTelemetry, its exporters and what the
// usual OTEL_* variables say about them.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/steadymcp/steady/cmd/steady/internal/config"
	"github.com/steadymcp/steady/observe/otelobserve"
)

// A Telemetry observes sessions until it is closed.
type Telemetry struct {
	*otelobserve.Telemetry
	shutdown []func(context.Context) error
}

// New returns a Telemetry. It connects to nothing yet. The error says which variable
// or setting does not fit.
func New(ctx context.Context, cfg *config.Telemetry, version string) (*Telemetry, error) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"} {
		if v := os.Getenv(name); v != "" && v != "http/protobuf" {
			return nil, fmt.Errorf("%s is %q; want http/protobuf, the only protocol there is here", name, v)
		}
	}
	service := cfg.Service
	if service == "" {
		service = "steady-proxy"
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", service), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	t := &Telemetry{}
	opts := &otelobserve.Options{
		TracerProvider: tracenoop.NewTracerProvider(),
		MeterProvider:  metricnoop.NewMeterProvider(),
		Propagator:     propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
		PublicEndpoint: cfg.Public,
	}
	if on(cfg.Traces, "OTEL_TRACES_EXPORTER") {
		if opts.TracerProvider, err = t.tracer(ctx, about); err != nil {
			return nil, err
		}
	}
	if on(cfg.Metrics, "OTEL_METRICS_EXPORTER") {
		if opts.MeterProvider, err = t.meter(ctx, about); err != nil {
			return nil, err
		}
	}
	t.Telemetry, err = otelobserve.New(opts)
	return t, err
}

// on reports whether something is sent.
func on(said *bool, variable string) bool {
	return (said == nil || *said) && os.Getenv(variable) != "none" && !strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true")
}

func (t *Telemetry) tracer(ctx context.Context, about *resource.Resource) (trace.TracerProvider, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	t.shutdown = append(t.shutdown, p.Shutdown)
	return p, nil
}

func (t *Telemetry) meter(ctx context.Context, about *resource.Resource) (metric.MeterProvider, error) {
	exporter, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return nil, err
	}
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)), sdkmetric.WithResource(about))
	t.shutdown = append(t.shutdown, p.Shutdown)
	return p, nil
}

// Close sends what is left, as long as ctx allows.
func (t *Telemetry) Close(ctx context.Context) error {
	err := t.Telemetry.Close(ctx)
	for _, shutdown := range t.shutdown {
		err = errors.Join(err, shutdown(ctx))
	}
	return err
}
