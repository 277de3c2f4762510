package client

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Lease is a lock that is held. It is safe for concurrent use, and tied to no
// goroutine. The methods of a nil Lease answer as those of one that is not held.
type Lease struct {
	hold     *hold
	ctx      context.Context
	released atomic.Bool
	done     chan struct{} // closed when the first Release has its result
	err      error
}

// none tells whether l is no lease at all.
func (l *Lease) none() bool { return l == nil || l.hold == nil }

// Key returns the key as the caller gave it; of AcquireAll all the keys, as one text.
func (l *Lease) Key() string {
	if l.none() {
		return ""
	}
	return l.hold.key
}

// Keys returns the keys of the lease: those of AcquireAll sorted, else the one.
func (l *Lease) Keys() []string {
	switch {
	case l.none():
		return nil
	case l.hold.keys == nil:
		return []string{l.hold.key}
	}
	return slices.Clone(l.hold.keys)
}

// Class returns the lock's class; see WithClass.
func (l *Lease) Class() string {
	if l.none() {
		return ""
	}
	return l.hold.class
}

// Token returns the random token by which the lease is known in Redis. It is a
// secret: whoever has it can release the lease.
func (l *Lease) Token() string {
	if l.none() {
		return ""
	}
	return l.hold.id.token
}

// Fence returns the fencing token of the grant: it rises with every grant of the
// key, whoever gets it, so a resource that remembers the highest one it saw can
// refuse a holder that was overtaken. It stays the same over Extend and re-entry.
// ok is false on a degraded lease, which has none until it is promoted.
func (l *Lease) Fence() (token uint64, ok bool) {
	if l.none() || l.hold.degraded.Load() {
		return 0, false
	}
	return l.hold.fence, true
}

// Context returns a context that is done when the lease ends, or the context
// given to Acquire does. context.Cause tells why: it matches ErrReleased, ErrLost,
// ErrClosed, or is the cause of the parent. Hand it to the work that needs the
// lock.
func (l *Lease) Context() context.Context {
	if l.none() {
		return endedContext
	}
	return l.ctx
}

// Deadline returns the instant until which the lease is ours unless it is renewed,
// by this machine's clock and with an allowance for drift.
func (l *Lease) Deadline() time.Time {
	if l.none() {
		return time.Time{}
	}
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	return l.hold.deadline.mono
}

// Degraded tells whether the lease excludes only this process, since Redis could
// not be reached and the class allows that. It becomes false when the lease is
// promoted; see EventPromoted.
func (l *Lease) Degraded() bool { return !l.none() && l.hold.degraded.Load() }

// Extend moves the lease's end to ttl from now, unless it is later already, and
// makes ttl that of later renewals. It fails with ErrNotHeld when the lease is no
// longer ours, ErrUnavailable when Redis did not answer (the lease then lives on
// to its old deadline), and ErrInvalid for a ttl that WithTTL would refuse or that
// is above the bound of the class.
func (l *Lease) Extend(ctx context.Context, ttl time.Duration) error {
	if l.none() {
		return &Error{Op: opExtend, Err: ErrNotHeld}
	}
	if ctx == nil {
		return &Error{Op: opExtend, Key: l.hold.key, Err: invalid("context is nil")}
	}
	if l.released.Load() {
		return &Error{Op: opExtend, Key: l.hold.key, Err: fmt.Errorf("%w: it was released", ErrNotHeld)}
	}
	if err := l.hold.extend(ctx, ttl); err != nil {
		return &Error{Op: opExtend, Key: l.hold.key, Err: err}
	}
	return nil
}

// Release ends the lease and frees the lock. It is idempotent: a second call
// returns what the first one did. It fails with ErrNotHeld when the lease had
// ended before, and with ErrUnavailable when Redis has not confirmed; the release
// then goes on in the background until the key's TTL has passed.
//
// The context bounds the call, not the release: with one that has ended already
// Release returns within some 40 ms and the key goes all the same, so
// defer lease.Release(ctx) is right with any ctx.
func (l *Lease) Release(ctx context.Context) error {
	if l.none() {
		return &Error{Op: opRelease, Err: ErrNotHeld}
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if !l.released.CompareAndSwap(false, true) {
		select {
		case <-l.done:
			return l.err
		case <-ctx.Done():
			return &Error{Op: opRelease, Key: l.hold.key,
				Err: fmt.Errorf("%w: another Release of the lease is under way: %w", ErrUnavailable, contextError(ctx))}
		}
	}
	if err := l.hold.leave(ctx); err != nil {
		l.err = &Error{Op: opRelease, Key: l.hold.key, Err: err}
	}
	close(l.done) // before observers are told, who may release too
	l.hold.observers.drain()
	return l.err
}

// Observe has fn called for each Event of the lease from now on; one that has
// ended calls it with its EventEnded at once. The calls come one after another,
// most of them from a goroutine that serves all leases of the Client, so fn must
// not block. A panic in fn is logged and otherwise without effect.
func (l *Lease) Observe(fn func(Event)) {
	if !l.none() && fn != nil {
		l.hold.observe(fn)
	}
}

var endedContext = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrNotHeld)
	return ctx
}()
