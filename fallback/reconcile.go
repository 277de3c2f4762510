package fallback

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// Result is what became of a degraded lease when Redis was back.
type Result uint8

const (
	// Promoted: it is in Redis, under the same holder.
	Promoted Result = iota
	// Conflict: another had the lock there, and the holder was told by
	// client.ErrLost. For a time both may have been at work.
	Conflict
	// Ended: it was over before its promotion was.
	Ended
	// Refused: Redis will not take the lock, and the holder was told by
	// client.ErrLost.
	Refused

	resultCount = iota
)

// String gives the result's name: promoted, conflict, ended or refused.
func (r Result) String() string {
	switch r {
	case Promoted:
		return "promoted"
	case Conflict:
		return "conflict"
	case Ended:
		return "ended"
	case Refused:
		return "refused"
	}
	return "unknown"
}

const (
	promoters   = 16 // at a time
	firstGap    = 20 * time.Millisecond
	maxGap      = 400 * time.Millisecond
	roundBudget = 2 * time.Second // of a round in which Redis leaves the outcome open
)

// leave lets o end by done(true), once all its degraded leases are in Redis or over. If
// Redis is gone before that, it is done(false). No lease is granted locally meanwhile.
func (b *Breaker) leave(o *outage, done func(ok bool)) {
	left := b.ledger.close(o)
	end := func(ok bool) {
		done(ok)
		b.ledger.reopen(o)
	}
	if len(left) == 0 {
		end(true)
		return
	}
	if !b.inBackground(func() { end(b.reconcile(left)) }) {
		end(true)
	}
}

// reconcile promotes leases and is false if Redis left the fate of one open.
func (b *Breaker) reconcile(left []*entry) bool {
	var next atomic.Int64
	var stop atomic.Bool
	var work sync.WaitGroup
	for range min(promoters, len(left)) {
		work.Go(func() {
			for !stop.Load() {
				i := int(next.Add(1)) - 1
				if i >= len(left) {
					return
				}
				if !b.promote(left[i]) {
					stop.Store(true)
				}
			}
		})
	}
	work.Wait()
	return !stop.Load()
}

// promote repeats the promotion of one lease until its outcome is known, within
// reason: where Redis does not answer it is for the next time that it is back.
func (b *Breaker) promote(e *entry) bool {
	begun, gap := time.Now(), firstGap
	for {
		err := client.Promote(b.background(b.ctx), e.lease)
		var r Result
		switch {
		case err == nil:
			r = Promoted
		case errors.Is(err, client.ErrNotAcquired):
			r = Conflict
		case errors.Is(err, client.ErrNotHeld):
			r = Ended
		case errors.Is(err, client.ErrUnavailable):
			if time.Since(begun) > roundBudget || !b.pause(gap/2+rand.N(gap)) {
				return false
			}
			gap = min(2*gap, maxGap)
			continue
		default:
			r = Refused
		}
		b.ledger.reconciled(e, r)
		b.report(e, r, err)
		return true
	}
}

// report logs what no counter can tell, and tells those who count.
func (b *Breaker) report(e *entry, r Result, err error) {
	var held *client.HeldError
	switch {
	case r == Conflict && errors.As(err, &held):
		b.cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn,
			"holdfast: conflict: a degraded lease has met another holder in Redis, and was ended; both may have been at work",
			slog.String("breaker", b.cfg.Name), slog.String("key", e.lease.Key()), slog.String("class", e.class),
			slog.String("ours", b.identity), slog.String("theirs", held.Holder), slog.Time("theirs_since", held.Since))
	case r == Refused:
		b.cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn,
			"holdfast: Redis refuses to take over a degraded lease, which was ended",
			slog.String("breaker", b.cfg.Name), slog.String("key", e.lease.Key()), slog.String("class", e.class), slog.Any("error", err))
	}
	b.mu.Lock()
	fns := b.reconciled
	b.mu.Unlock()
	for _, fn := range fns {
		b.guard(func() { fn(e.class, r) })
	}
}

// OnReconciled has fn called for each degraded lease whose fate is known when Redis is
// back, from several goroutines; fn must not block. A panic in fn is logged and
// otherwise without effect.
func (b *Breaker) OnReconciled(fn func(class string, r Result)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reconciled = append(b.reconciled[:len(b.reconciled):len(b.reconciled)], fn)
}

// inBackground runs fn, unless b is closed, which waits for it.
func (b *Breaker) inBackground(fn func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return false
	}
	b.work.Go(fn)
	return true
}

// pause is false when b was closed meanwhile.
func (b *Breaker) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-b.ctx.Done():
		return false
	}
}
