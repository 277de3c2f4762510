package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/client"
)

// watcher follows one lease to its end. Its events come one after another.
type watcher struct {
	t       *Telemetry
	class   *class
	mode    *mode // in which it is
	lease   *client.Lease
	asked   *asked // for a page; nil without one
	mark    mark
	acquire trace.SpanContext
	hold    trace.Span // nil unless asked for
	renewal renewalSpan
	over    bool

	// For those who look at it meanwhile.
	ttl        atomic.Int64 // nanoseconds that it had left when that was last moved
	renewals   atomic.Int64
	failing    atomic.Bool // the last renewal did
	downgraded atomic.Bool
}

// watch follows the lease that a got.
func (t *Telemetry) watch(a *acquire, now time.Time) {
	class := a.class
	if name := a.lease.Class(); name != class.name {
		class = t.hub.class(name)
	}
	w := &watcher{t: t, class: class, acquire: a.span.SpanContext(),
		lease: a.lease, asked: a.asked}
	w.mode = w.class.modeOf(a.lease)
	if t.holdSpans && t.tracing.on() {
		w.startHold(a)
	}
	w.mode.leases.enter(&w.mark, w, now)
	w.profile()
	w.begun()
	a.lease.Observe(w.event)
}

func (w *watcher) event(ev client.Event) {
	w.noted(ev)
	switch ev.Kind {
	case client.EventRenewed:
		w.renewed(ev)
	case client.EventRenewalFailed:
		w.renewalFailed(ev)
	case client.EventReleased:
		w.released(ev)
	case client.EventEnded:
		w.ended(ev)
	case client.EventDowngraded:
		w.downgraded.Store(true)
	case client.EventPromoted:
		w.promoted(ev)
	}
}

func (w *watcher) renewed(ev client.Event) {
	w.renewals.Add(1)
	w.renewal.end(ev.At)
	if ev.Lease.Degraded() {
		return
	}
	l := labels{labelClass: w.class.name}
	w.record(w.t.hub.renewalDuration, ev.Duration.Seconds(), l)
	w.record(w.t.hub.renewalHeadroom, ev.Headroom, l)
}

func (w *watcher) renewalFailed(ev client.Event) {
	w.record(w.t.hub.renewalDuration, ev.Duration.Seconds(), labels{labelClass: w.class.name, labelErrorType: client.ErrorType(ev.Err)})
	if w.acquire.IsSampled() && !w.over {
		w.renewal.failed(w, ev)
	}
}

func (w *watcher) released(ev client.Event) {
	if !ev.Lease.Degraded() {
		l := labels{labelClass: w.class.name, labelErrorType: client.ErrorType(ev.Err)}
		if ev.Err == nil {
			w.recordOften(w.t.hub.releaseDuration, ev.Duration.Seconds(), &w.class.freed, l)
		} else {
			w.record(w.t.hub.releaseDuration, ev.Duration.Seconds(), l)
		}
	}
	if w.t.tracing.on() {
		w.releaseSpan(ev)
	}
}

func (w *watcher) ended(ev client.Event) {
	w.over = true
	w.mark.leave()
	w.unprofile()
	w.renewal.end(ev.At)
	l := labels{labelClass: w.class.name, labelMode: w.mode.name, labelEndReason: string(ev.Reason)}
	if ev.Reason == client.EndReleased {
		w.recordOften(w.t.hub.holdDuration, ev.Duration.Seconds(), &w.mode.released, l)
	} else {
		w.record(w.t.hub.holdDuration, ev.Duration.Seconds(), l)
	}
	if ev.Loss != "" {
		w.t.hub.lost(w.class, ev.Loss, 1)
	}
	if w.hold != nil {
		w.endHold(ev)
	}
}

// record measures what belongs to no call.
func (w *watcher) record(h metric.Float64Histogram, v float64, l labels) {
	w.t.hub.record(context.Background(), h, v, l)
}

// recordOften is record for a series that is needed all the time.
func (w *watcher) recordOften(h metric.Float64Histogram, v float64, kept *atomic.Pointer[series], l labels) {
	h.Record(context.Background(), v, w.t.hub.series.often(kept, l).record...)
}
