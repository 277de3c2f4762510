package telemetry

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/client"
)

// Telemetry makes the layers that turn what happens to locks into spans and
// metrics. One may serve any number of Clients, and several with the same meter
// provider share their instruments. It is safe for concurrent use; Close it when
// done.
type Telemetry struct {
	hub          *hub
	tracing      tracing
	keyAttribute bool
	holdSpans    bool
	page         *Page // nil for none
	background   trace.SpanContext

	mu       sync.Mutex
	breakers []*breaker
	clients  []ClientInfo
	closed   bool
}

// New returns a Telemetry. Without options it uses the global providers. An
// instrument that a meter does not make is reported to otel.Handle and does
// nothing; New fails, with client.ErrInvalid, for a nil option only.
func New(opts ...Option) (*Telemetry, error) {
	var cfg config
	for i, o := range opts {
		if o == nil {
			return nil, fmt.Errorf("%w: telemetry option %d is nil", client.ErrInvalid, i)
		}
		o(&cfg)
	}
	if cfg.meterProvider == nil {
		cfg.meterProvider = otel.GetMeterProvider()
	}
	t := &Telemetry{
		hub:          joinHub(cfg.meterProvider),
		keyAttribute: cfg.keyAttribute,
		holdSpans:    cfg.holdSpans,
		page:         cfg.page,
		background:   unsampled(),
	}
	t.tracing.init(cfg.tracerProvider)
	t.page.join(t)
	return t, nil
}

// Close takes the asynchronous instruments back, once all that use the same meter
// provider are closed, and stops watching breakers. What still goes through the
// layers is recorded all the same. It never shuts a provider down. Closing twice is
// harmless. It has the form of an on-close function of the Client; the context is
// not used.
func (t *Telemetry) Close(context.Context) error {
	t.mu.Lock()
	closed, breakers := t.closed, t.breakers
	t.closed, t.breakers = true, nil
	t.mu.Unlock()
	if closed {
		return nil
	}
	t.page.part(t)
	t.hub.forget(breakers)
	return t.hub.leave()
}

// Background returns ctx with a remote parent that is not sampled, for commands
// that no caller waits for (see client.Assembly.InBackground). A redis client
// instrumented with OpenTelemetry opens a span per command; without a parent each
// renewal would be a trace of its own. With this one a sampler based on the parent,
// as the default is, drops them.
func (t *Telemetry) Background(ctx context.Context) context.Context {
	return trace.ContextWithRemoteSpanContext(ctx, t.background)
}

// unsampled is a span context that nobody records.
func unsampled() trace.SpanContext {
	var traceID trace.TraceID
	var spanID trace.SpanID
	rand.Read(traceID[:])
	rand.Read(spanID[:])
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, Remote: true})
}
