package telemetry

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/holdfast-go/holdfast/client"
)

func TestBuckets(t *testing.T) {
	r := newRig(t)
	h := r.hub
	ctx := context.Background()
	h.acquireDuration.Record(ctx, 1)
	h.holdDuration.Record(ctx, 1)
	h.renewalDuration.Record(ctx, 1)
	h.renewalHeadroom.Record(ctx, 1)
	h.releaseDuration.Record(ctx, 1)
	for _, m := range r.collect(t) {
		d, ok := m.Data.(metricdata.Histogram[float64])
		if !ok {
			continue
		}
		b := d.DataPoints[0].Bounds
		want := map[string][2]float64{
			"holdfast.acquire.duration": {0.0005, 60}, "holdfast.hold.duration": {0.001, 3600},
			"holdfast.renewal.duration": {0.00025, 2.5}, "holdfast.release.duration": {0.00025, 2.5},
			"holdfast.renewal.headroom": {0.1, 1},
		}[m.Name]
		if b[0] != want[0] || b[len(b)-1] != want[1] || !slices.IsSorted(b) {
			t.Errorf("%s has bounds %v, want from %v to %v", m.Name, b, want[0], want[1])
		}
	}
}

// brokenMeters make nothing, in one of the ways in which a meter may fail.
type brokenMeters struct {
	metricnoop.MeterProvider
	meter metric.Meter
}

func (p brokenMeters) Meter(string, ...metric.MeterOption) metric.Meter { return p.meter }

type brokenMeter struct {
	metricnoop.Meter
	err error
}

func (m brokenMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return nil, m.err
}
func (m brokenMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return nil, m.err
}
func (m brokenMeter) Int64ObservableUpDownCounter(string, ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	return nil, m.err
}
func (m brokenMeter) Float64ObservableGauge(string, ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	return nil, m.err
}
func (m brokenMeter) Float64ObservableCounter(string, ...metric.Float64ObservableCounterOption) (metric.Float64ObservableCounter, error) {
	return nil, m.err
}
func (m brokenMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return nil, m.err
}

type nilTracers struct{ tracenoop.TracerProvider }

func (nilTracers) Tracer(string, ...trace.TracerOption) trace.Tracer { return nil }

// C125: providers that are nil, and meters that make nothing, cost the
// measurements and nothing else.
func TestBrokenProviders(t *testing.T) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	for name, opts := range map[string][]Option{
		"none":           nil,
		"nil":            {WithTracerProvider(nil), WithMeterProvider(nil)},
		"nil pointers":   {WithTracerProvider((*sdktrace.TracerProvider)(nil)), WithMeterProvider((*sdkmetric.MeterProvider)(nil))},
		"no-op":          {WithTracerProvider(tracenoop.NewTracerProvider()), WithMeterProvider(metricnoop.NewMeterProvider())},
		"no tracer":      {WithTracerProvider(nilTracers{}), WithMeterProvider(brokenMeters{})},
		"errors":         {WithMeterProvider(brokenMeters{meter: brokenMeter{err: errors.New("no instruments today")}})},
		"no instruments": {WithMeterProvider(brokenMeters{meter: brokenMeter{}})},
	} {
		t.Run(name, func(t *testing.T) {
			tel := newTelemetry(t, opts...)
			if err := tel.WatchBreaker(newFakeBreaker("redis").Breaker()); err != nil {
				t.Error(err)
			}
			c := newClient(t, tel.Middleware(), tel.Attempts(), local)
			release(t, acquire1(t, c))
			// The way of one that measures:
			tel.hub.collected.Store(true)
			release(t, acquire1(t, c))
		})
	}
}

// An instrument that cannot be made takes nothing from the others.
func TestOneBrokenInstrument(t *testing.T) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	reader := sdkmetric.NewManualReader()
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	r := &rig{reader: reader}
	r.Telemetry = newTelemetry(t, WithMeterProvider(brokenMeters{meter: noAge{p.Meter(scope)}}))
	l := acquire1(t, newClient(t, r.Middleware(), local))
	defer release(t, l)
	if got := r.metric(t, "holdfast.lease.count")["class=default mode=degraded"]; got.n != 1 {
		t.Errorf("%v leases are counted, want 1", got.n)
	}
}

// noAge is a meter without gauges.
type noAge struct{ metric.Meter }

func (noAge) Float64ObservableGauge(string, ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	return nil, nil
}

func TestNilOptionIsInvalid(t *testing.T) {
	if _, err := New(nil); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("error %v, want ErrInvalid", err)
	}
}
