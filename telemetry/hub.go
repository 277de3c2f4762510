package telemetry

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/holdfast-go/holdfast/client"
)

// hub is what all Telemetries of one MeterProvider share. An SDK adds up what two
// callbacks observe on an up-down counter, and lets the last one win on a gauge:
// only one callback that knows of all leases can report their greatest age.
type hub struct {
	instruments
	series  seriesCache
	classes classes

	provider     metric.MeterProvider
	meter        metric.Meter
	registration metric.Registration
	collected    atomic.Bool // a reader has asked

	mu       sync.Mutex
	breakers []*breaker

	users int // under the lock of hubs
}

// hubs are those in use.
var hubs struct {
	sync.Mutex
	list []*hub
}

// joinHub returns the hub of p for one more user, who leaves it when done.
func joinHub(p metric.MeterProvider) *hub {
	hubs.Lock()
	defer hubs.Unlock()
	meter := meterOf(p)
	for _, h := range hubs.list {
		if h.serves(p, meter) {
			h.users++
			return h
		}
	}
	h := &hub{provider: p, meter: meter, instruments: newInstruments(meter), users: 1}
	registration, err := meter.RegisterCallback(h.observe, h.observables()...)
	if err != nil {
		otel.Handle(fmt.Errorf("holdfast: what is held and awaited is not recorded: %w", err))
	}
	if !isNil(registration) {
		h.registration = registration
	}
	hubs.list = append(hubs.list, h)
	return h
}

// leave gives up one use of the hub; the last one unregisters its callback.
func (h *hub) leave() error {
	hubs.Lock()
	defer hubs.Unlock()
	if h.users--; h.users > 0 {
		return nil
	}
	hubs.list = slices.DeleteFunc(hubs.list, func(o *hub) bool { return o == h })
	if h.registration == nil {
		return nil
	}
	if err := h.registration.Unregister(); err != nil {
		return fmt.Errorf("holdfast: close telemetry: %w", err)
	}
	return nil
}

func meterOf(p metric.MeterProvider) metric.Meter {
	m := p.Meter(scope, metric.WithInstrumentationVersion(version()))
	if isNil(m) {
		return noop.Meter{}
	}
	return m
}

// serves tells whether the instruments of p are those of the hub. The global
// provider that was there before the program set one hands over to that one, so
// two providers may have one meter.
func (h *hub) serves(p metric.MeterProvider, m metric.Meter) bool {
	return same(h.provider, p) || same(h.meter, m) || same(meterOf(h.provider), m)
}

// same compares what may not be comparable.
func same(a, b any) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// active tells whether there is anybody to measure for.
func (h *hub) active(ctx context.Context) bool {
	return h.collected.Load() || h.enabled(ctx)
}

// class returns the class of that name, and has its losses begin at 0.
func (h *hub) class(name string) *class {
	c := h.classes.of(name)
	if !c.primed.Load() && h.leaseLosses.Enabled(context.Background()) && c.primed.CompareAndSwap(false, true) {
		for _, r := range []client.LossReason{client.LossExpired, client.LossTaken, client.LossUnreachable, client.LossConflict} {
			h.lost(c, r, 0)
		}
		for _, r := range reconciliations {
			h.reconciled(c, r, 0)
		}
	}
	return c
}

func (h *hub) lost(c *class, r client.LossReason, n int) {
	h.add(context.Background(), h.leaseLosses, n, labels{labelClass: c.name, labelReason: string(r)})
}

func (h *hub) record(ctx context.Context, i metric.Float64Histogram, v float64, l labels) {
	i.Record(ctx, v, h.series.of(l).record...)
}

func (h *hub) add(ctx context.Context, i metric.Int64Counter, n int, l labels) {
	i.Add(ctx, int64(n), h.series.of(l).add...)
}
