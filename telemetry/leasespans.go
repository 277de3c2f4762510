package telemetry

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/client"
)

// releaseSpan makes the span of a release that is over, as a child of the span in
// which it was called.
func (w *watcher) releaseSpan(ev client.Event) {
	ctx := ev.Context
	if ctx == nil {
		ctx = context.Background()
	}
	start := trace.WithTimestamp(ev.At.Add(-ev.Duration))
	_, span := w.t.tracing.start(ctx, w.class.releaseSpan, append(slices.Clip(w.class.modeOf(ev.Lease).span), start)...)
	if span.IsRecording() {
		if w.acquire.IsValid() && w.acquire.TraceID() != span.SpanContext().TraceID() {
			span.AddLink(trace.Link{SpanContext: w.acquire})
		}
		if ev.Err != nil {
			w.fail(span, ev)
		}
	}
	span.End(trace.WithTimestamp(ev.At))
}

// fail marks a span with the error of an event.
func (w *watcher) fail(span trace.Span, ev client.Event) {
	t := client.ErrorType(ev.Err)
	span.SetAttributes(labelKeys[labelErrorType].String(t))
	span.SetStatus(codes.Error, w.t.explain(ev.Err, ev.Lease.Key(), t))
}

// startHold begins the span of the hold, beside that of the acquire.
func (w *watcher) startHold(a *acquire) {
	_, w.hold = w.t.tracing.start(a.caller, w.class.holdSpan, w.t.withKey(w.mode.span, a.key)...)
	if fence, ok := a.lease.Fence(); ok {
		w.hold.SetAttributes(attrFence.Int64(int64(fence)))
	}
}

func (w *watcher) endHold(ev client.Event) {
	w.hold.SetAttributes(labelKeys[labelEndReason].String(string(ev.Reason)))
	if ev.Loss != "" {
		w.hold.SetAttributes(labelKeys[labelReason].String(string(ev.Loss)))
		w.fail(w.hold, ev)
	}
	w.hold.End(trace.WithTimestamp(ev.At))
}

// maxRenewalSpans bounds the spans of a lease that lives for days on a bad network.
const maxRenewalSpans = 8

// renewalSpan is the span of a time in which renewals of a lease fail.
type renewalSpan struct {
	span     trace.Span // nil while they work
	made     int
	failures int
}

// failed begins the span, unless it is under way. Its trace is its own: the acquire
// ended long ago, so it is linked to, not continued.
func (r *renewalSpan) failed(w *watcher, ev client.Event) {
	r.failures++
	if r.span != nil || r.made == maxRenewalSpans || !w.t.tracing.on() {
		return
	}
	r.made++
	r.failures = 1
	_, r.span = w.t.tracing.start(context.Background(), w.class.renewSpan,
		append(slices.Clip(w.class.internal),
			trace.WithTimestamp(ev.At.Add(-ev.Duration)),
			trace.WithLinks(trace.Link{SpanContext: w.acquire}))...)
	w.fail(r.span, ev)
}

// end ends the span that is under way, if any.
func (r *renewalSpan) end(at time.Time) {
	if r.span == nil {
		return
	}
	r.span.SetAttributes(attrFailures.Int(r.failures))
	r.span.End(trace.WithTimestamp(at))
	r.span = nil
}
