package telemetry

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/holdfast-go/holdfast/client"
)

func off() []Option {
	return []Option{WithTracerProvider(tracenoop.NewTracerProvider()), WithMeterProvider(metricnoop.NewMeterProvider())}
}

// sdk is a whole SDK whose exporters throw everything away.
func sdk(t testing.TB) []Option {
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(tracetest.NewNoopExporter()))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	t.Cleanup(func() { tracers.Shutdown(context.Background()) })
	return []Option{WithTracerProvider(tracers), WithMeterProvider(meters)}
}

func metricsOnly(t testing.TB) []Option {
	return append(sdk(t), WithTracerProvider(tracenoop.NewTracerProvider()))
}

// layers makes a pipeline around core of which each layer is there, or none.
func layers(t testing.TB, core client.Middleware, opts []Option) []client.Middleware {
	if opts == nil {
		return []client.Middleware{core}
	}
	tel := newTelemetry(t, opts...)
	return []client.Middleware{tel.Middleware(), tel.Attempts(), core}
}

// cycle is an acquire and a release.
func cycle(t testing.TB, c *client.Client) func() {
	return cycleUnder(t, context.Background(), c)
}

func cycleUnder(t testing.TB, ctx context.Context, c *client.Client) func() {
	return func() {
		l, err := c.Acquire(ctx, "key")
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOffAllocatesNothing(t *testing.T) {
	bare := testing.AllocsPerRun(1000, cycle(t, newClient(t, layers(t, local, nil)...)))
	for name, opts := range map[string][]Option{"no-op providers": off(), "global providers, not set": {}} {
		if n := testing.AllocsPerRun(1000, cycle(t, newClient(t, layers(t, local, opts)...))); n > bare {
			t.Errorf("%s: %v allocations per acquire and release, %v without telemetry", name, n, bare)
		}
	}
}

// An agent may make a global tracer work that did not.
func TestIdleTracerIsAskedAgain(t *testing.T) {
	tr := tracing{tracer: tracenoop.Tracer{}, global: otel.GetTracerProvider()}
	tr.start(t.Context(), "span")
	asked := 0
	for range 3 * reprobe {
		if tr.on() {
			asked++
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times in %d, want 3", asked, 3*reprobe)
	}
}

func TestOnAllocatesLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates too")
	}
	bare := testing.AllocsPerRun(1000, cycle(t, newClient(t, layers(t, local, nil)...)))
	for name, tc := range map[string]struct {
		opts []Option
		most float64
	}{
		"metrics and traces": {sdk(t), 25},
		"metrics":            {metricsOnly(t), 5},
	} {
		if n := testing.AllocsPerRun(1000, cycle(t, newClient(t, layers(t, local, tc.opts)...))); n > bare+tc.most {
			t.Errorf("%s: %v allocations per acquire and release, %v without telemetry, want at most %v more", name, n, bare, tc.most)
		}
	}
}

// What telemetry costs is the difference to "none". With an SDK it is to stay below 8 µs
// and 25 allocations (TestOnAllocatesLittle), with no-op providers below 300 ns and none
// (TestOffAllocatesNothing). The caller has a sampled span, as that of a request is; in
// "roots" it has none, so that each call makes two traces of its own.
func BenchmarkAcquireRelease(b *testing.B) {
	request, span := sdktrace.NewTracerProvider().Tracer("").Start(context.Background(), "request")
	defer span.End()
	for _, bc := range []struct {
		name string
		ctx  context.Context
		opts []Option
	}{
		{"none", request, nil}, {"off", request, off()}, {"unset", request, []Option{}},
		{"metrics", request, metricsOnly(b)}, {"sdk", request, sdk(b)}, {"roots", context.Background(), sdk(b)},
		{"page", request, append(off(), WithPage(NewPage()))},
	} {
		b.Run(bc.name, func(b *testing.B) {
			run := cycleUnder(b, bc.ctx, newClient(b, layers(b, local, bc.opts)...))
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
