package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/metric"
)

// The bounds of the histograms: the defaults of OpenTelemetry are for milliseconds.
var (
	waitBounds     = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
	holdBounds     = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600}
	commandBounds  = []float64{0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5}
	headroomBounds = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}
)

// instruments are those of one meter. A synchronous one that could not be made is
// a no-op, an asynchronous one is nil.
type instruments struct {
	acquireDuration    metric.Float64Histogram
	attempts           metric.Int64Counter
	retrySuppressed    metric.Int64Counter
	holdDuration       metric.Float64Histogram
	renewalDuration    metric.Float64Histogram
	renewalHeadroom    metric.Float64Histogram
	releaseDuration    metric.Float64Histogram
	leaseLosses        metric.Int64Counter
	breakerTransitions metric.Int64Counter
	reconciliations    metric.Int64Counter

	leaseCount    metric.Int64ObservableUpDownCounter
	leaseAge      metric.Float64ObservableGauge
	waiterCount   metric.Int64ObservableUpDownCounter
	waiterAge     metric.Float64ObservableGauge
	breakerStatus metric.Int64ObservableUpDownCounter
	degradedTime  metric.Float64ObservableCounter
}

func newInstruments(m metric.Meter) instruments {
	b := builder{m}
	return instruments{
		acquireDuration: b.histogram("holdfast.acquire.duration", "s", "Time from the call of Acquire to its return.", waitBounds),
		attempts:        b.counter("holdfast.attempts", "{attempt}", "Tries to take a lock."),
		retrySuppressed: b.counter("holdfast.retry.suppressed", "{retry}", "Retries that the retry budget refused."),
		holdDuration:    b.histogram("holdfast.hold.duration", "s", "Time from the grant of a lease to its end.", holdBounds),
		renewalDuration: b.histogram("holdfast.renewal.duration", "s", "Time that a renewal of a lease took.", commandBounds),
		renewalHeadroom: b.histogram("holdfast.renewal.headroom", "1", "Share of the TTL that was left when a renewal was confirmed.", headroomBounds),
		releaseDuration: b.histogram("holdfast.release.duration", "s", "Time that the release of a lease took.", commandBounds),
		leaseLosses:     b.counter("holdfast.lease.losses", "{loss}", "Leases that ended under their holder."),
		breakerTransitions: b.counter("holdfast.breaker.transitions", "{transition}",
			"Changes of the breaker's state."),
		reconciliations: b.counter("holdfast.degraded.reconciliations", "{lease}",
			"Degraded leases that there were when Redis was back."),

		leaseCount:    b.asyncUpDown("holdfast.lease.count", "{lease}", "Leases held."),
		leaseAge:      b.asyncGauge("holdfast.lease.age.max", "s", "Age of the oldest lease held."),
		waiterCount:   b.asyncUpDown("holdfast.waiter.count", "{waiter}", "Acquires under way."),
		waiterAge:     b.asyncGauge("holdfast.waiter.age.max", "s", "Age of the oldest acquire under way."),
		breakerStatus: b.asyncUpDown("holdfast.breaker.status", "1", "1 for the state that the breaker is in, 0 for the others."),
		degradedTime:  b.asyncCounter("holdfast.degraded.time", "s", "Time that the breaker was not closed."),
	}
}

// enabled tells whether anything measures. It is false while the global provider
// has not been set.
func (i *instruments) enabled(ctx context.Context) bool {
	return i.acquireDuration.Enabled(ctx) || i.attempts.Enabled(ctx) || i.holdDuration.Enabled(ctx) ||
		i.renewalDuration.Enabled(ctx) || i.renewalHeadroom.Enabled(ctx) || i.releaseDuration.Enabled(ctx) ||
		i.leaseLosses.Enabled(ctx) || i.retrySuppressed.Enabled(ctx)
}

// observables are the asynchronous instruments that could be made: an SDK refuses
// a callback for any that is not its own.
func (i *instruments) observables() []metric.Observable {
	var all []metric.Observable
	for _, o := range []metric.Observable{i.leaseCount, i.leaseAge, i.waiterCount, i.waiterAge, i.breakerStatus, i.degradedTime} {
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}
