package telemetry

import (
	"reflect"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Option configures a Telemetry.
type Option func(*config)

type config struct {
	tracerProvider trace.TracerProvider
	meterProvider  metric.MeterProvider
	keyAttribute   bool
	holdSpans      bool
	page           *Page
}

// WithTracerProvider sets where spans go. Default, also for nil, the global
// provider, even if that is set later.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(c *config) {
		if !isNil(p) {
			c.tracerProvider = p
		}
	}
}

// WithMeterProvider sets where metrics go. Default, also for nil, the global
// provider, even if that is set later.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(c *config) {
		if !isNil(p) {
			c.meterProvider = p
		}
	}
}

// WithKeyAttribute puts the lock's key on the acquire and hold spans, as
// holdfast.key. Off by default: keys often name customers, and who may read traces
// may not be who may read those. No metric ever carries a key.
func WithKeyAttribute() Option {
	return func(c *config) { c.keyAttribute = true }
}

// WithHoldSpans adds a span "hold {class}" for each lease, from grant to end, as a
// child of the span in which it was acquired. Off by default: a lease may well
// outlive that span, and holdfast.hold.duration tells as much.
func WithHoldSpans() Option {
	return func(c *config) { c.holdSpans = true }
}

// isNil tells whether v is nil or an interface that holds a nil pointer.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	rv := reflect.ValueOf(v)
	return rv.Kind() == reflect.Pointer && rv.IsNil()
}
