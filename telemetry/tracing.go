package telemetry

import (
	"context"
	"reflect"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// reprobe is after how many spans not made a global tracer is asked again, for the
// sake of an agent that attaches to the running process.
const reprobe = 1024

// tracing makes spans, and knows when there is no use in it.
type tracing struct {
	tracer  trace.Tracer         // nil: of no use ever
	global  trace.TracerProvider // the global provider if that is to be used, else nil
	idle    atomic.Bool          // the global provider makes no spans, as long as it is the same
	notMade atomic.Uint32
}

func (t *tracing) init(p trace.TracerProvider) {
	if p == nil {
		p = otel.GetTracerProvider()
		if reflect.ValueOf(p).Comparable() {
			t.global = p
		}
	}
	if _, ok := p.(noop.TracerProvider); ok {
		return
	}
	if tracer := p.Tracer(scope, trace.WithInstrumentationVersion(version())); !isNil(tracer) {
		t.tracer = tracer
	}
}

// on tells whether spans are made.
func (t *tracing) on() bool {
	if t.tracer == nil {
		return false
	}
	return !t.idle.Load() || otel.GetTracerProvider() != t.global || t.notMade.Add(1)%reprobe == 0
}

// start begins a span. Every tracer but a no-op gives it an identity of its own,
// sampled or not; that is how a global provider which is not set is known.
func (t *tracing) start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	ctx2, span := t.tracer.Start(ctx, name, opts...)
	if t.global != nil {
		id := span.SpanContext().SpanID()
		idle := !id.IsValid() || id == trace.SpanContextFromContext(ctx).SpanID()
		if t.idle.Load() != idle {
			t.idle.Store(idle)
		}
	}
	return ctx2, span
}
