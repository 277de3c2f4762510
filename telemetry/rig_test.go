package telemetry

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a Telemetry on an SDK of its own.
type rig struct {
	*Telemetry
	meters  *sdkmetric.MeterProvider
	tracers *sdktrace.TracerProvider
	reader  *sdkmetric.ManualReader
	spans   *tracetest.SpanRecorder
}

func newRig(t testing.TB, opts ...Option) *rig {
	t.Helper()
	r := &rig{reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	r.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	r.tracers = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans))
	r.Telemetry = newTelemetry(t, append([]Option{WithMeterProvider(r.meters), WithTracerProvider(r.tracers)}, opts...)...)
	return r
}

func newTelemetry(t testing.TB, opts ...Option) *Telemetry {
	t.Helper()
	tel, err := New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tel
}

// newClient returns a Client on a Redis that nobody dials: the innermost of mws is
// the core.
func newClient(t testing.TB, mws ...client.Middleware) *client.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	c, err := client.New(rdb, client.WithMiddleware(mws...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		rdb.Close()
	})
	return c
}

// local is a core that grants everything.
func local(client.Handler) client.Handler {
	return func(_ context.Context, req client.Request) (*client.Lease, error) {
		return client.NewLocalLease(req)
	}
}

// fails is a core that grants nothing.
func fails(err error) client.Middleware {
	return func(client.Handler) client.Handler {
		return func(context.Context, client.Request) (*client.Lease, error) { return nil, err }
	}
}

func acquire1(t testing.TB, c *client.Client, opts ...client.AcquireOption) *client.Lease {
	t.Helper()
	l, err := c.Acquire(context.Background(), "key", opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func release(t testing.TB, l *client.Lease) {
	t.Helper()
	if err := l.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// point is one series of a metric: n is a counter's or a gauge's value, or the
// number of a histogram's values, whose sum is sum.
type point struct {
	n, sum float64
}

// metric collects and returns the series of a metric by their attributes, which are
// written without the common prefix: "class=default mode=degraded".
func (r *rig) metric(t testing.TB, name string) map[string]point {
	t.Helper()
	for _, m := range r.collect(t) {
		if m.Name == name {
			return points(t, m)
		}
	}
	return nil
}

func (r *rig) collect(t testing.TB) []metricdata.Metrics {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := r.reader.Collect(context.Background(), &rm); err != nil {
		t.Fatal(err)
	}
	var all []metricdata.Metrics
	for _, s := range rm.ScopeMetrics {
		if s.Scope.Name != "github.com/holdfast-go/holdfast" {
			t.Errorf("scope is %q", s.Scope.Name)
		}
		all = append(all, s.Metrics...)
	}
	return all
}

func points(t testing.TB, m metricdata.Metrics) map[string]point {
	t.Helper()
	all := map[string]point{}
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			all[text(p.Attributes.ToSlice())] = point{n: float64(p.Value)}
		}
	case metricdata.Sum[float64]:
		for _, p := range d.DataPoints {
			all[text(p.Attributes.ToSlice())] = point{n: p.Value}
		}
	case metricdata.Gauge[float64]:
		for _, p := range d.DataPoints {
			all[text(p.Attributes.ToSlice())] = point{n: p.Value}
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			all[text(p.Attributes.ToSlice())] = point{float64(p.Count), p.Sum}
		}
	default:
		t.Fatalf("%s is a %T", m.Name, d)
	}
	return all
}

func text(kvs []attribute.KeyValue) string {
	var all []string
	for _, kv := range kvs {
		all = append(all, strings.TrimPrefix(string(kv.Key), "holdfast.")+"="+kv.Value.String())
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// span returns the only ended span of that name.
func (r *rig) span(t testing.TB, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	all := r.named(name)
	if len(all) != 1 {
		t.Fatalf("%d spans %q, want 1", len(all), name)
	}
	return all[0]
}

func (r *rig) named(name string) (all []sdktrace.ReadOnlySpan) {
	for _, s := range r.spans.Ended() {
		if s.Name() == name {
			all = append(all, s)
		}
	}
	return all
}
