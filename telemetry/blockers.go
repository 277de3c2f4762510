package telemetry

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/client"
)

// blockers adds to attrs who held the lock last, and links the span to those of the
// first and the last holder that the call met.
func (a *acquire) blockers(attrs []attribute.KeyValue) []attribute.KeyValue {
	first, last := a.call.Blockers()
	if last == nil {
		return attrs
	}
	now := time.Now()
	a.link(first, "first", now)
	if last.Traceparent != first.Traceparent {
		a.link(last, "last", now)
	}
	return holder(attrs, last, now)
}

func (a *acquire) link(h *client.HeldError, which string, now time.Time) {
	if sc, ok := parseTraceparent(h.Traceparent); ok {
		a.span.AddLink(trace.Link{
			SpanContext: sc,
			Attributes:  holder([]attribute.KeyValue{attrBlocker.String(which)}, h, now),
		})
	}
}

// holder adds what is known of h to attrs. The clock of h.Since is the server's, so
// the time held may be off by as much as the clocks are.
func holder(attrs []attribute.KeyValue, h *client.HeldError, now time.Time) []attribute.KeyValue {
	if h.Holder != "" {
		attrs = append(attrs, attrHolder.String(valid(h.Holder)))
	}
	if !h.Since.IsZero() {
		attrs = append(attrs, attrHeldFor.Float64(max(now.Sub(h.Since), 0).Seconds()))
	}
	if h.Local {
		attrs = append(attrs, attrHolderLocal.Bool(true))
	}
	if h.Resting {
		attrs = append(attrs, attrHolderResting.Bool(true))
	}
	return attrs
}
