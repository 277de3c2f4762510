package scenario

import (
	"context"
	"fmt"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/client"
)

// signals is a way to set up holdfast's telemetry. The function returned ends it.
type signals struct {
	name  string
	setUp func() (opts []holdfast.Option, end func())
}

var telemetry = []signals{
	{"without the layers", func() ([]holdfast.Option, func()) {
		return []holdfast.Option{
			holdfast.Replace(holdfast.LayerTelemetry, nil), holdfast.Replace(holdfast.LayerAttempts, nil),
		}, func() {}
	}},
	{"no-op providers", func() ([]holdfast.Option, func()) {
		return []holdfast.Option{
			holdfast.WithTracerProvider(tracenoop.NewTracerProvider()), holdfast.WithMeterProvider(metricnoop.NewMeterProvider()),
		}, func() {}
	}},
	{"SDK, every span sampled", func() ([]holdfast.Option, func()) {
		tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(tracetest.NewNoopExporter()))
		meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
		return []holdfast.Option{holdfast.WithTracerProvider(tracers), holdfast.WithMeterProvider(meters)},
			func() {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				tracers.Shutdown(ctx)
				meters.Shutdown(ctx)
			}
	}},
}

// telemetryCost is what spans and metrics cost.
func telemetryCost() []Scenario {
	s := &report.Section{
		Title: "Telemetry",
		Text: "What spans and metrics add to a pair: by the pipeline alone, which here grants in memory and asks no Redis, and with " +
			"Redis. The SDK's exporters throw away what they get.",
	}
	var contenders []contender.Contender
	for _, t := range telemetry {
		contenders = append(contenders, contender.Contender{Name: "holdfast, " + t.name, Kind: report.Ours})
	}
	return []Scenario{{
		Name:       "telemetry",
		Contenders: contenders,
		Metrics: []*report.Metric{
			{Section: s, Head: "pipeline alone", Unit: "µs", Better: report.Lower},
			{Section: s, Head: "allocations", Better: report.Lower},
			{Section: s, Head: "pairs/s, 1 goroutine", Better: report.Higher},
			{Section: s, Head: "pairs/s, 64 goroutines", Better: report.Higher},
		},
		Run: runTelemetry,
	}}
}

func runTelemetry(e *Env, c contender.Contender) (s Sample, err error) {
	var set signals
	for _, t := range telemetry {
		if c.Name == "holdfast, "+t.name {
			set = t
		}
	}
	if set.setUp == nil {
		return s, fmt.Errorf("no telemetry %q", c.Name)
	}
	opts, end := set.setUp()
	defer end()
	alone := contender.Holdfast(c.Name, append(opts, holdfast.WithAttemptMiddleware(local))...)
	err = withLocks(e, alone, 0, func(l contender.Locks) error {
		p, cost := costOf(l, e.Length)
		s.Values = append(s.Values, 1e6/p.rate(), cost.allocations)
		s.Faults = p.faults()
		return nil
	})
	if err != nil {
		return s, err
	}
	for _, n := range []int{1, crowd} {
		real, err := runPairs(e, contender.Holdfast(c.Name, opts...), n, 0)
		if err != nil {
			return s, err
		}
		s.Values = append(s.Values, real.Values...)
		s.Faults = append(s.Faults, real.Faults...)
	}
	return s, nil
}

// local is a layer that grants in memory.
func local(client.Handler) client.Handler {
	return func(_ context.Context, req client.Request) (*client.Lease, error) { return client.NewLocalLease(req) }
}
