package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/metric"
)

// observe is the callback of the asynchronous instruments.
func (h *hub) observe(ctx context.Context, o metric.Observer) error {
	h.collected.Store(true)
	for _, c := range h.classes.all() {
		h.observeLane(o, h.waiterCount, h.waiterAge, labels{labelClass: c.name}, &c.waiters)
		for _, m := range []*mode{&c.distributed, &c.degraded} {
			h.observeLane(o, h.leaseCount, h.leaseAge, labels{labelClass: c.name, labelMode: m.name}, &m.leases)
		}
	}
	h.mu.Lock()
	breakers := h.breakers
	h.mu.Unlock()
	for _, b := range breakers {
		b.prime(ctx)
		b.observe(o)
	}
	return nil
}

func (h *hub) observeLane(o metric.Observer, count metric.Int64Observable, age metric.Float64Observable, l labels, in *lane) {
	n, oldest := in.read()
	attrs := h.series.of(l).observe
	if count != nil {
		o.ObserveInt64(count, n, attrs...)
	}
	if age != nil {
		o.ObserveFloat64(age, oldest.Seconds(), attrs...)
	}
}
