package holdfast

import (
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/backoff"
	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/fallback"
	"github.com/holdfast-go/holdfast/telemetry"
)

// DefaultAttemptTimeout bounds one attempt; see WithAttemptTimeout.
const DefaultAttemptTimeout = 250 * time.Millisecond

// settings are what the options of this package say of the pipeline.
type settings struct {
	telemetry      []telemetry.Option
	breaker        fallback.BreakerConfig
	policies       fallback.Policies
	retry          []backoff.Option
	attemptTimeout time.Duration
	attempt        []client.Layer
	replaced       map[string]Middleware
}

type extension func(*settings) error

func option(fn extension) Option { return client.WithExtension(fn) }

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// WithTracerProvider sets where spans go. Default: the global provider.
func WithTracerProvider(p trace.TracerProvider) Option {
	return WithTelemetry(telemetry.WithTracerProvider(p))
}

// WithMeterProvider sets where metrics go. Default: the global provider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return WithTelemetry(telemetry.WithMeterProvider(p))
}

// WithTelemetry configures the telemetry layers further; see telemetry.New.
func WithTelemetry(opts ...telemetry.Option) Option {
	return option(func(s *settings) error {
		s.telemetry = append(s.telemetry, opts...)
		return nil
	})
}

// WithPage has p show the Client's locks; see telemetry.Page. One page may show many
// Clients. Default none.
func WithPage(p *telemetry.Page) Option {
	return WithTelemetry(telemetry.WithPage(p))
}

// WithFallback says for each class what becomes of it while Redis is unavailable.
// Default: every class fails closed.
func WithFallback(p fallback.Policies) Option {
	return option(func(s *settings) error {
		s.policies = p
		return nil
	})
}

// WithBreaker configures the circuit breaker; a Logger left nil is that of the
// Client. The defaults are those of fallback.BreakerConfig.
func WithBreaker(cfg fallback.BreakerConfig) Option {
	return option(func(s *settings) error {
		s.breaker = cfg
		return nil
	})
}

// WithRetry configures the waits and the retries; see backoff.Retry.
func WithRetry(opts ...backoff.Option) Option {
	return option(func(s *settings) error {
		s.retry = append(s.retry, opts...)
		return nil
	})
}

// WithAttemptTimeout bounds one attempt, after which Redis counts as unavailable
// for it. Default 250 ms: raise it where a round trip takes longer than a fifth of
// that. The bound of a command (WithCommandTimeout) holds as well.
func WithAttemptTimeout(d time.Duration) Option {
	return option(func(s *settings) error {
		if d <= 0 {
			return invalid("attempt timeout must be positive, is %v", d)
		}
		s.attemptTimeout = d
		return nil
	})
}

// WithAttemptMiddleware adds layers around each single attempt, inside the breaker,
// the first the outermost.
func WithAttemptMiddleware(mws ...Middleware) Option {
	return option(func(s *settings) error {
		for i, mw := range mws {
			if mw == nil {
				return invalid("attempt middleware %d is nil", i)
			}
			s.attempt = append(s.attempt, client.Layer{Name: fmt.Sprintf("attempt middleware %d", len(s.attempt)+1), Middleware: mw})
		}
		return nil
	})
}

// Replace puts mw in the place of one of the recommended layers, named by a
// constant of this package; nil leaves the layer out. Only the gate cannot be
// replaced: without it nothing would exclude the callers of this process from each
// other while Redis comes and goes.
func Replace(layer string, mw Middleware) Option {
	return option(func(s *settings) error {
		switch {
		case layer == LayerGate:
			return invalid("the gate cannot be replaced")
		case !replaceable(layer):
			return invalid("no layer %q to replace; there are %s", layer, strings.Join(layerNames, ", "))
		}
		if s.replaced == nil {
			s.replaced = make(map[string]Middleware)
		}
		s.replaced[layer] = mw
		return nil
	})
}
