package client

import (
	"context"
	"fmt"
	"time"
)

// Downgrade makes an exclusive lease a shared one, without letting go of the lock:
// those who wait to share it come in at once. The lease's token, fence and TTL stay.
// For a lease that is shared already it does nothing. It fails with ErrNotHeld where
// the lease has ended, ErrInvalid for one of slots, one with a minimum hold, one that
// is degraded and one whose owner has others, and ErrUnavailable when Redis did not
// answer: take the lease for shared then, until Downgrade, called again, or Release has
// succeeded.
func (l *Lease) Downgrade(ctx context.Context) error {
	if l.none() {
		return &Error{Op: opDowngrade, Err: ErrNotHeld}
	}
	if ctx == nil {
		return &Error{Op: opDowngrade, Key: l.hold.key, Err: invalid("context is nil")}
	}
	if l.released.Load() {
		return &Error{Op: opDowngrade, Key: l.hold.key, Err: fmt.Errorf("%w: it was released", ErrNotHeld)}
	}
	if err := l.hold.downgrade(ctx); err != nil {
		return &Error{Op: opDowngrade, Key: l.hold.key, Err: err}
	}
	return nil
}

func (h *hold) downgrade(ctx context.Context) error {
	if err := h.standing(); err != nil {
		return err
	}
	h.mu.Lock()
	mode, minHold, live := h.mode, h.minHold, h.phase == phaseLive
	h.next = nil // what is sent now may come when another lease has the token
	h.mu.Unlock()
	if !live {
		return h.standing() // a Release came in between, and may have passed the token on
	}
	switch {
	case mode == SharedMode:
		return nil
	case mode != Exclusive, minHold > 0:
		return invalid("a lease of mode %s with a minimum hold of %v cannot be downgraded", mode, minHold)
	case h.degraded.Load():
		return invalid("a degraded lease excludes this process alone, and cannot be shared")
	}
	start := time.Now()
	c := h.client
	s, left, err := c.standing(ctx, opDowngrade, c.store.downgradeEvals(h.id), nil)
	if left {
		return fmt.Errorf("%w: the caller left before the answer: %w", ErrUnavailable, contextError(ctx))
	}
	if err != nil {
		return err
	}
	if s != standingOurs {
		return fmt.Errorf("%w: %s", ErrNotHeld, s)
	}
	h.mu.Lock()
	live = h.phase == phaseLive
	if live {
		h.mode = SharedMode
	}
	h.mu.Unlock()
	if !live {
		return h.standing()
	}
	now := time.Now()
	c.dispatcher.post(h, Event{Kind: EventDowngraded, At: now, Duration: now.Sub(start)})
	return nil
}
