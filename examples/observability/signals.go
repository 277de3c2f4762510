package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// signals are the SDK of one worker: what any service has that is instrumented.
type signals struct {
	meters  *sdkmetric.MeterProvider
	tracers *sdktrace.TracerProvider
	metrics http.Handler
}

// nativeHistograms makes exponential histograms of all of holdfast's, which Prometheus
// takes as native ones.
var nativeHistograms = sdkmetric.NewView(
	sdkmetric.Instrument{Name: "holdfast.*", Kind: sdkmetric.InstrumentKindHistogram},
	sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}})

// newSignals has metrics to be scraped and sends traces to the OTLP endpoint at url.
func newSignals(ctx context.Context, worker int, url string, native bool) (*signals, error) {
	about := resource.NewSchemaless(
		attribute.String("service.name", "shop"),
		attribute.String("service.instance.id", fmt.Sprintf("worker-%d", worker)))
	traces, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(strings.TrimSuffix(url, "/")+"/v1/traces"))
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	reader, err := otelprom.New(otelprom.WithRegisterer(registry))
	if err != nil {
		return nil, err
	}
	opts := []sdkmetric.Option{sdkmetric.WithReader(reader), sdkmetric.WithResource(about)}
	if native {
		opts = append(opts, sdkmetric.WithView(nativeHistograms))
	}
	return &signals{
		meters: sdkmetric.NewMeterProvider(opts...),
		tracers: sdktrace.NewTracerProvider(sdktrace.WithResource(about),
			sdktrace.WithBatcher(traces, sdktrace.WithBatchTimeout(time.Second))),
		// OpenMetrics, since the older text format has no exemplars.
		metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}),
	}, nil
}

// close sends what is still here.
func (s *signals) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return errors.Join(s.tracers.Shutdown(ctx), s.meters.Shutdown(ctx))
}
