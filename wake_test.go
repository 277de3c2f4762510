package holdfast_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// What ended a wait, and where in the queue it began, is on the waiter's span, and the
// former on the attempt that was granted.
func TestTheSignalsTellWhatEndedAWait(t *testing.T) {
	for wake, end := range map[string]func(holder *holdfast.Lease){
		"handoff": func(l *holdfast.Lease) { _ = l.Release(context.Background()) },
		"expiry":  func(*holdfast.Lease) {},
		"poll":    func(l *holdfast.Lease) { _ = l.Release(context.Background()) }, // and no message arrives
	} {
		t.Run(wake, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim := redistest.NewSim(t)
				proxy := sim.Proxy()
				spans, reader := tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
				clients := 0
				client := func(opts ...holdfast.Option) *holdfast.Client {
					clients++
					rdb := proxy.Client(t)
					if clients == 1 {
						rdb = sim.Client()
					}
					c, err := holdfast.New(rdb, append(opts, holdfast.WithGate(strconv.Itoa(clients)),
						holdfast.WithLogger(slog.New(slog.DiscardHandler)))...)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = c.Close(context.Background()) })
					return c
				}
				holder, err := client().Acquire(t.Context(), "k", holdfast.WithTTL(3*time.Second), holdfast.WithoutRenewal())
				if err != nil {
					t.Fatal(err)
				}
				c := client(holdfast.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))),
					holdfast.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))))
				if wake == "poll" {
					if _, err := c.Inspect(t.Context(), "k"); err != nil {
						t.Fatal(err)
					}
					proxy.Refuse(true) // the connection for messages: there is one for commands
				}
				time.AfterFunc(time.Second, func() { end(holder) })
				l, err := c.Acquire(t.Context(), "k")
				if err != nil {
					t.Fatal(err)
				}
				if err := l.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				attrs := attribute.NewSet(spans.Ended()[0].Attributes()...)
				if v, _ := attrs.Value("holdfast.wake"); v.AsString() != wake {
					t.Errorf("the span tells of %q", v.AsString())
				}
				if v, _ := attrs.Value("holdfast.queue.position"); v.AsInt64() != 1 {
					t.Errorf("position %v", v.AsInt64())
				}
				if got := granted(t, reader); got != fmt.Sprintf("[%s:1]", wake) {
					t.Errorf("granted attempts: %s", got)
				}
			})
		})
	}
}

// granted are the attempts that were granted, by what woke them.
func granted(t *testing.T, reader *sdkmetric.ManualReader) string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "holdfast.attempts" {
			for _, p := range sum.DataPoints {
				if result, _ := p.Attributes.Value("holdfast.result"); result.AsString() == "granted" {
					wake, _ := p.Attributes.Value("holdfast.wake")
					got = append(got, fmt.Sprintf("%s:%d", wake.AsString(), p.Value))
				}
			}
		}
	}
	return fmt.Sprint(got)
}
