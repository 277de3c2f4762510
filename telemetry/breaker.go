package telemetry

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-go/holdfast/client"
)

// Breaker is what WatchBreaker has to know of a circuit breaker. States are named
// closed, open and half-open. State and OpenTime are called at each collection, so
// they must not block.
type Breaker struct {
	Name         string                         // static, the label of the breaker's metrics
	State        func() string                  // the present state
	OpenTime     func() time.Duration           // spent not closed, all in all, up to now
	Since        func() time.Time               // when the present state began; nil if that is not known
	OnTransition func(fn func(from, to string)) // has fn called after each transition
	// OnReconciled has fn called for each degraded lease whose fate is known when Redis
	// is back: promoted, conflict, ended or refused. It may be nil.
	OnReconciled func(fn func(class, result string))
}

var breakerStates = []string{"closed", "open", "half-open"}

// WatchBreaker reports b's state, transitions and open time until t is closed. What
// breakers of the same name report adds up. It fails with client.ErrInvalid where a
// field of b but Since and OnReconciled is missing, and with client.ErrClosed after Close.
func (t *Telemetry) WatchBreaker(b Breaker) error {
	if b.Name == "" || b.State == nil || b.OpenTime == nil || b.OnTransition == nil {
		return fmt.Errorf("%w: a breaker to watch needs all fields", client.ErrInvalid)
	}
	b.Name = valid(b.Name)
	w := &breaker{Breaker: b, hub: t.hub}
	if !t.keep(w) {
		return fmt.Errorf("%w: its telemetry cannot watch breaker %q", client.ErrClosed, b.Name)
	}
	b.OnTransition(func(from, to string) {
		w.count(context.Background(), to, 1)
		t.page.breaker(b.Name, from, to)
	})
	if b.OnReconciled != nil {
		b.OnReconciled(func(class, result string) { t.hub.reconciled(t.hub.class(class), result, 1) })
	}
	return nil
}

// keep has b observed until t is closed; false if it is.
func (t *Telemetry) keep(b *breaker) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.hub.watch(b)
	t.breakers = append(t.breakers, b)
	return true
}

// breaker is one that is watched.
type breaker struct {
	Breaker
	hub    *hub
	primed atomic.Bool
}

// prime has the transitions begin at 0.
func (b *breaker) prime(ctx context.Context) {
	if !b.primed.Load() && b.hub.breakerTransitions.Enabled(ctx) && b.primed.CompareAndSwap(false, true) {
		for _, to := range breakerStates {
			b.count(ctx, to, 0)
		}
	}
}

func (b *breaker) count(ctx context.Context, to string, n int) {
	b.hub.add(ctx, b.hub.breakerTransitions, n, labels{labelBreaker: b.Name, labelTo: to})
}

func (b *breaker) observe(o metric.Observer) {
	h := b.hub
	if h.breakerStatus != nil {
		now := b.State()
		for _, s := range breakerStates {
			var is int64
			if s == now {
				is = 1
			}
			o.ObserveInt64(h.breakerStatus, is, h.series.of(labels{labelBreaker: b.Name, labelState: s}).observe...)
		}
	}
	if h.degradedTime != nil {
		o.ObserveFloat64(h.degradedTime, b.OpenTime().Seconds(), h.series.of(labels{labelBreaker: b.Name}).observe...)
	}
}

// watch adds b to what the hub observes.
func (h *hub) watch(b *breaker) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.breakers = append(slices.Clip(h.breakers), b)
}

// forget takes bs out again.
func (h *hub) forget(bs []*breaker) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.breakers = slices.DeleteFunc(slices.Clone(h.breakers), func(b *breaker) bool { return slices.Contains(bs, b) })
}
