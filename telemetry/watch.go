package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/client"
)

// watcher follows one lease to its end. Its events come one after another.
type watcher struct {
	t       *Telemetry
	class   *class
	mode    *mode // in which it was granted
	mark    mark
	acquire trace.SpanContext
	hold    trace.Span // nil unless asked for
	renewal renewalSpan
	over    bool
}

// watch follows the lease that a got.
func (t *Telemetry) watch(a *acquire) {
	w := &watcher{t: t, class: t.hub.class(a.lease.Class()), acquire: a.span.SpanContext()}
	w.mode = w.class.modeOf(a.lease)
	if t.holdSpans && t.tracing.on() {
		w.startHold(a)
	}
	w.mode.leases.enter(&w.mark)
	a.lease.Observe(w.event)
}

func (w *watcher) event(ev client.Event) {
	switch ev.Kind {
	case client.EventRenewed:
		w.renewed(ev)
	case client.EventRenewalFailed:
		w.renewalFailed(ev)
	case client.EventReleased:
		w.released(ev)
	case client.EventEnded:
		w.ended(ev)
	}
}

func (w *watcher) renewed(ev client.Event) {
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
		w.record(w.t.hub.releaseDuration, ev.Duration.Seconds(), labels{labelClass: w.class.name, labelErrorType: client.ErrorType(ev.Err)})
	}
	if w.t.tracing.on() {
		w.releaseSpan(ev)
	}
}

func (w *watcher) ended(ev client.Event) {
	w.over = true
	w.mark.leave()
	w.renewal.end(ev.At)
	w.record(w.t.hub.holdDuration, ev.Duration.Seconds(), labels{labelClass: w.class.name, labelMode: w.mode.name, labelEndReason: string(ev.Reason)})
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
