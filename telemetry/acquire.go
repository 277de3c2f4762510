package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/holdfast-go/holdfast/client"
)

// errorTypePanic stands for the error of a call that never returned.
const errorTypePanic = "panic"

// Middleware is the outermost layer of a pipeline: the span and the duration of
// each acquire, who waits, and all that happens to the leases that come of it. What
// the calls did at the breaker and the retry budget it learns from their record, so
// the other layers need not know of it. An acquire that nests inside a lease (see
// client.Reentrant) goes through no pipeline and is not seen.
func (t *Telemetry) Middleware() client.Middleware {
	return func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			traced := t.tracing.on()
			if !traced && t.page == nil && !t.hub.active(ctx) || req.Call() == nil {
				return next(ctx, req)
			}
			a := t.begin(ctx, req, traced)
			defer a.end()
			a.lease, a.err = next(a.ctx, req)
			a.returned = true
			return a.lease, a.err
		}
	}
}

// acquire is one call under way.
type acquire struct {
	t      *Telemetry
	class  *class
	key    string
	asked  *asked // for a page; nil without one
	call   *client.Call
	caller context.Context
	ctx    context.Context // the caller's with span
	span   trace.Span
	start  time.Time
	waiter mark

	returned bool // false: the layers inside panicked
	lease    *client.Lease
	err      error
}

func (t *Telemetry) begin(ctx context.Context, req client.Request, traced bool) *acquire {
	a := &acquire{
		t: t, class: t.hub.class(req.Class), key: req.Key, asked: t.page.asked(req), call: req.Call(),
		caller: ctx, ctx: ctx, span: noop.Span{}, start: time.Now(),
	}
	if traced {
		a.ctx, a.span = t.tracing.start(ctx, a.class.acquireSpan, a.startOptions(req.Wait)...)
		if sc := a.span.SpanContext(); sc.IsSampled() {
			a.call.SetTraceparent(formatTraceparent(sc))
		}
	}
	a.class.waiters.enter(&a.waiter, a, a.start)
	return a
}

func (a *acquire) startOptions(wait bool) spanOptions {
	opts := a.class.try
	if wait {
		opts = a.class.wait
	}
	return a.t.withKey(opts, a.key)
}

// end is what is left to do when the layers inside have returned, or panicked.
func (a *acquire) end() {
	a.waiter.leave()
	m := a.class.modeOf(a.lease) // once: a lease may be promoted at any time
	l := a.labels(m)
	now := time.Now()
	if a.returned && a.err == nil {
		a.t.watch(a, now)
	}
	h := a.t.hub
	waited := now.Sub(a.start).Seconds()
	if a.returned && a.err == nil {
		h.acquireDuration.Record(a.ctx, waited, h.series.often(&m.acquired, l).record...)
	} else {
		h.record(a.ctx, h.acquireDuration, waited, l)
	}
	if n := a.call.ShortCircuits(); n > 0 {
		h.add(a.ctx, h.attempts, n, labels{labelClass: a.class.name, labelResult: resultShortCircuited})
	}
	if n := a.call.RetriesSuppressed(); n > 0 {
		h.add(a.ctx, h.retrySuppressed, n, labels{labelClass: a.class.name})
	}
	if a.span.IsRecording() {
		a.describe(l)
	}
	a.span.End()
}

// labels are those of the wait: the one place that says how it ended.
func (a *acquire) labels(m *mode) labels {
	l := labels{labelClass: a.class.name, labelMode: m.name}
	if !a.returned {
		l[labelOutcome], l[labelErrorType] = string(client.OutcomeError), errorTypePanic
		return l
	}
	l[labelOutcome] = string(client.OutcomeOf(a.err))
	if !errors.Is(a.err, client.ErrNotAcquired) {
		l[labelErrorType] = client.ErrorType(a.err)
	}
	return l
}

// describe gives the span its attributes, links and status.
func (a *acquire) describe(l labels) {
	attrs := make([]attribute.KeyValue, 0, 4) // as many as one has that did not wait
	attrs = append(attrs,
		labelKeys[labelOutcome].String(l[labelOutcome]),
		labelKeys[labelMode].String(l[labelMode]),
		attrAttempts.Int(a.call.Attempts()))
	if n := a.call.ShortCircuits(); n > 0 {
		attrs = append(attrs, attrShortCircuits.Int(n))
	}
	if n := a.call.Position(); n > 0 {
		attrs = append(attrs, attrPosition.Int(n))
	}
	if wake := a.call.WakeSource(); wake != client.WakeNone {
		attrs = append(attrs, labelKeys[labelWake].String(string(wake)))
	}
	if reason := a.call.Degraded(); reason != "" {
		attrs = append(attrs, attrDegraded.Bool(a.lease.Degraded()), attrReason.String(reason))
	}
	if fence, ok := a.lease.Fence(); ok {
		attrs = append(attrs, attrFence.Int64(int64(fence)))
	}
	if e := l[labelErrorType]; e != "" {
		attrs = append(attrs, labelKeys[labelErrorType].String(e))
	}
	attrs = a.blockers(attrs)
	a.span.SetAttributes(attrs...)
	if l[labelOutcome] == string(client.OutcomeError) {
		a.span.SetStatus(codes.Error, a.t.explain(a.err, a.key, l[labelErrorType]))
	}
}
