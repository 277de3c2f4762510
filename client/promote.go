package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Promote brings a degraded lease into Redis, by the acquire script under the lease's
// own token. It goes before all who wait, and never waits itself. It is for the layer
// that made the lease by NewLocalLease and sees that Redis is back.
//
// On nil the same Lease is as any other: it has a fence, it is renewed unless its
// acquire was given WithoutRenewal, and its observers get an EventPromoted. On
// ErrUnavailable the outcome is unknown: the lease lives on as it was, and Promote
// is to be called again; a Release meanwhile takes the token out of Redis too, where
// it may have got in or may get in yet. All else is final:
//   - ErrNotAcquired (with *HeldError): another holds the lock in Redis. The lease has
//     ended, with a cause that matches ErrLost, by EndConflict;
//   - ErrRefused: Redis will not take the lock. The lease has ended, as lost;
//   - ErrNotHeld: the lease had ended, or ended meanwhile.
//
// For a lease that is not degraded it does nothing.
func Promote(ctx context.Context, l *Lease) error {
	if l.none() {
		return &Error{Op: opPromote, Err: ErrNotHeld}
	}
	if ctx == nil {
		return &Error{Op: opPromote, Key: l.hold.key, Err: invalid("context is nil")}
	}
	if err := l.hold.promote(ctx); err != nil {
		return &Error{Op: opPromote, Key: l.hold.key, Err: err}
	}
	return nil
}

// promotion is one try.
type promotion struct {
	sent      time.Time
	ttl       time.Duration
	minHold   time.Duration // what is left of it
	until     deadline      // the lease's, when the try began
	straggler bool          // an earlier acquire of the token may yet come
}

// errAgain: an Extend came in between, and what Redis has is too short.
var errAgain = errors.New("the lease was extended meanwhile")

func (h *hold) promote(ctx context.Context) error {
	for {
		if err := h.standing(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: nothing was sent: %w", ErrUnavailable, contextError(ctx))
		}
		p, err := h.beginPromotion()
		if err != nil {
			return err
		}
		if p == nil {
			return h.standing() // promoted, or over
		}
		if err := h.tryPromotion(ctx, p); err != errAgain {
			return err
		}
	}
}

// beginPromotion is nil where there is nothing to do.
func (h *hold) beginPromotion() (*promotion, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.degraded.Load() || h.phase != phaseLive {
		return nil, nil
	}
	if h.promoting {
		return nil, fmt.Errorf("%w: another promotion of the lease is under way", ErrUnavailable)
	}
	now := time.Now()
	left := h.deadline.left(now)
	p := &promotion{sent: now, until: h.deadline, straggler: h.straggler, minHold: max(0, h.granted.Add(h.minHold).Sub(now))}
	p.ttl = max(left+left/50+5*time.Millisecond, p.minHold) // the drift that deadlineAt allows for is not the holder's loss
	if !h.local.noRenewal {
		p.ttl = max(p.ttl, h.ttl)
	}
	if h.maxTTL > 0 {
		p.ttl = min(p.ttl, h.maxTTL)
	}
	h.promoting, h.straggler, h.unsure = true, true, true
	if t := now.Add(p.ttl + tombstoneLife); t.After(h.lastKey) {
		h.lastKey = t
	}
	return p, nil
}

func (h *hold) tryPromotion(ctx context.Context, p *promotion) error {
	result, left, err := h.runPromotion(ctx, p)
	switch {
	case left:
		err = fmt.Errorf("%w: the caller left before the answer: %w", ErrUnavailable, contextError(ctx))
	case err != nil:
	case result.granted:
		return h.promoted(p, result.fence)
	case result.withdrawn:
		err = fmt.Errorf("%w: its token was withdrawn", ErrNotHeld)
	default:
		err = result.held
	}
	h.mu.Lock()
	h.promoting = false
	unknown := errors.Is(err, ErrUnavailable)
	remove := !unknown && (p.straggler || len(h.id.locks) > 1)
	h.mu.Unlock()
	if unknown {
		return err
	}
	return h.unpromoted(err, remove)
}

// unpromoted ends a lease that will never be in Redis, for the reason that err is.
func (h *hold) unpromoted(err error, remove bool) error {
	reason, loss, detail := EndLost, LossUnreachable, "it was degraded, and Redis refuses it: "
	switch {
	case errors.Is(err, ErrNotAcquired):
		reason, loss, detail = EndConflict, LossConflict, "it was degraded, and another has the lock now that Redis is back: "
	case errors.Is(err, ErrNotHeld):
		loss, detail = LossTaken, "it was degraded, and another ended it in Redis: "
	}
	ended := h.end(reason, loss, &Error{Op: "hold", Key: h.key, Err: &LostError{reason, loss, detail + plain(err)}})
	if remove {
		h.client.janitor.add(h.removal())
	}
	if !ended {
		return h.standing()
	}
	return err
}

// runPromotion runs the acquire script, for several locks that one script may not take
// one after the other.
func (h *hold) runPromotion(ctx context.Context, p *promotion) (all acquireResult, left bool, err error) {
	req := Request{Key: h.key, TTL: p.ttl, MinHold: p.minHold, Mode: Exclusive, Owner: h.owner, Barge: true}
	for _, part := range h.client.store.parts(h.id) {
		result, left, err := h.promotePart(ctx, req, part)
		if left || err != nil || !result.granted {
			return result, left, err
		}
		result.fence = max(result.fence, all.fence)
		all = result
	}
	return all, false, nil
}

// promotePart runs the script once, or twice where the lock is held by this Client
// itself: that was a lease that is over, and has just been taken out. One that is
// still being taken out tells nothing yet.
func (h *hold) promotePart(ctx context.Context, req Request, part leaseID) (result acquireResult, left bool, err error) {
	c := h.client
	for try := 0; try < 2; try++ {
		v, left, err := c.eval(ctx, opPromote, c.commandTimeout, nil, c.store.acquireEval(part, req, h.local.traceparent, nil))
		if left || err != nil {
			return result, left, err
		}
		if result, err = c.store.acquired(v); err != nil || result.held == nil || result.held.Holder != c.identity {
			return result, false, err
		}
		if c.janitor.removes(result.token) {
			return result, false, fmt.Errorf("%w: a lease of this client that is over is still being taken out", ErrUnavailable)
		}
	}
	return result, false, nil
}

// promoted makes a degraded lease one in Redis, unless it has ended meanwhile.
func (h *hold) promoted(p *promotion, fence uint64) error {
	now := time.Now()
	h.mu.Lock()
	h.promoting = false
	switch {
	case h.phase != phaseLive:
		h.mu.Unlock()
		h.client.janitor.add(h.removal())
		return h.standing()
	case h.deadline != p.until:
		h.mu.Unlock()
		return errAgain
	}
	h.straggler, h.unsure, h.renewErr = p.straggler, false, nil
	h.fence, h.noRenewal, h.minHold = fence, h.local.noRenewal, p.minHold
	h.deadline = deadlineAt(p.sent, p.ttl)
	if h.noRenewal && p.until.mono.Before(h.deadline.mono) {
		h.deadline = p.until
	}
	h.degraded.Store(false) // after the fence: see Lease.Fence
	h.observers.push(Event{Kind: EventPromoted, At: now, Duration: now.Sub(p.sent)})
	renewAt := p.sent.Add(h.interval())
	h.mu.Unlock()
	h.client.scheduler.reschedule(h, renewAt)
	h.client.dispatcher.deliver(h)
	return nil
}

// inRedis tells whether the lease's token is, or may be, in Redis.
func (h *hold) inRedis() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.degraded.Load() || h.straggler
}
