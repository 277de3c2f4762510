package fallback

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sony/gobreaker/v2"
)

type transition struct {
	from, to State
	outage   *outage
	after    time.Duration // since the outage began
}

// changed runs under gobreaker's mutex, once per transition: it keeps the books
// and leaves all that is foreign code to deliver.
func (b *Breaker) changed(_ string, was, is gobreaker.State) {
	t := &transition{from: stateOf(was), to: stateOf(is)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.since = time.Now()
	if t.from == Closed {
		t.outage = newOutage(&OpenError{Breaker: b.cfg.Name, reason: fmt.Sprintf("%d of %d commands failed within %v",
			b.trip.TotalFailures, b.trip.TotalFailures+b.trip.TotalSuccesses, b.cfg.Window)})
		t.outage.needed = b.probesNeeded()
		t.outage.steady.Store(t.outage.needed == 1)
		b.last.Store(t.outage)
		b.startProber(t.outage)
	}
	t.outage = b.last.Load()
	t.after = b.since.Sub(t.outage.began.mono)
	b.state.Store(uint32(t.to))
	if t.to == Closed {
		b.total += t.after
		b.ended = b.since
		close(t.outage.over)
	}
	b.queue = append(b.queue, t)
	b.queued.Add(1)
}

// deliver tells of transitions, in order and under no lock. One goroutine at a time
// does it for all.
func (b *Breaker) deliver() {
	if b.queued.Load() == 0 {
		return
	}
	for t, fns := b.next(false); t != nil; t, fns = b.next(true) {
		b.log(t)
		if t.to == Closed {
			b.ends(t)
		}
		for _, fn := range fns {
			b.guard(func() { fn(t.from, t.to) })
		}
	}
}

// next takes the first transition off the queue for the goroutine that delivers;
// mine says that the caller is that one already.
func (b *Breaker) next(mine bool) (*transition, []func(from, to State)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.delivering && !mine {
		return nil, nil
	}
	b.delivering = len(b.queue) > 0
	if !b.delivering {
		b.queue = nil
		return nil, nil
	}
	t := b.queue[0]
	b.queue = b.queue[1:]
	b.queued.Add(-1)
	return t, b.fns
}

func (b *Breaker) log(t *transition) {
	level, detail := slog.LevelInfo, slog.Duration("after", t.after)
	switch {
	case t.to == Open && t.from == HalfOpen:
		level, detail = slog.LevelWarn, slog.String("reason", "a trial failed")
	case t.to == Open:
		level, detail = slog.LevelWarn, slog.String("reason", t.outage.refusal.reason)
	}
	b.cfg.Logger.LogAttrs(context.Background(), level, "holdfast: circuit breaker "+t.to.String(),
		slog.String("breaker", b.cfg.Name), slog.String("from", t.from.String()), detail)
}

// guard calls code of others.
func (b *Breaker) guard(fn func()) {
	defer func() {
		if p := recover(); p != nil {
			b.cfg.Logger.Error("holdfast: panic in a function that watches the circuit breaker", "breaker", b.cfg.Name, "panic", p)
		}
	}()
	fn()
}

// OnTransition has fn called after each transition from now on, one call after
// another and in order. It runs in the goroutine of the command that was the
// cause, so it must not block; it may use b. A panic in fn is logged and otherwise
// without effect.
func (b *Breaker) OnTransition(fn func(from, to State)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fns = append(b.fns[:len(b.fns):len(b.fns)], fn)
}

// Name returns the breaker's name.
func (b *Breaker) Name() string { return b.cfg.Name }

// State returns the present state. To ask for it changes nothing: an open breaker
// becomes half-open with the first attempt or probe after its open timeout.
func (b *Breaker) State() State { return State(b.state.Load()) }

// Since returns when the present state began.
func (b *Breaker) Since() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.since
}

// OpenTime returns for how long, all in all, the breaker was not closed, up to now.
func (b *Breaker) OpenTime() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if o := b.outage(); o != nil {
		return b.total + time.Since(o.began.mono)
	}
	return b.total
}
