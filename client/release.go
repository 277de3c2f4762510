package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// releaseGrace is how long a Release whose context has ended waits for the
// command that is on its way all the same.
const releaseGrace = 40 * time.Millisecond

// leave takes back one handle; the last one frees the lock.
func (h *hold) leave(ctx context.Context) error {
	h.expire()
	h.mu.Lock()
	h.handles--
	switch {
	case h.handles > 0 && h.phase == phaseLive:
		h.mu.Unlock()
		return nil
	case h.phase == phaseLive:
		h.phase, h.reason = phaseLeaving, EndReleased
		t, next := h.tenure(time.Now()), h.next
		h.passed = t != nil // for whoever cleans up meanwhile
		h.mu.Unlock()
		h.stop(&Error{Op: opRelease, Key: h.key, Err: ErrReleased})
		if t != nil && next(t) {
			h.observers.push(Event{Kind: EventReleased, At: time.Now(), Context: ctx})
			h.finish(EndReleased, "", ErrReleased)
			return nil
		}
		h.mu.Lock()
		h.passed = false
		h.mu.Unlock()
		return h.free(ctx)
	case h.reason == EndLost || h.reason == EndExpired || h.reason == EndConflict || h.deadline.passed(time.Now()):
		reason := h.reason
		kept := (reason == EndCanceled || reason == EndMaxHold) && h.unsure && time.Now().Before(h.lastKey)
		h.mu.Unlock()
		h.awaitEnd()
		if kept { // by a renewal that was not answered
			h.client.janitor.add(h.removal())
		}
		return fmt.Errorf("%w: the lease had ended (%s)", ErrNotHeld, reason)
	}
	last := h.handles == 0
	h.mu.Unlock()
	h.awaitEnd()
	if !last {
		return nil
	}
	return h.free(ctx)
}

// awaitEnd returns when whoever has ended the hold has queued the event.
func (h *hold) awaitEnd() {
	h.ending.Lock()
	defer h.ending.Unlock()
}

// free gives the lock back: where it was granted, whatever has become of the
// breaker since.
func (h *hold) free(ctx context.Context) error {
	start := time.Now()
	var err error
	rm := h.removal()
	switch {
	case !h.degraded.Load():
		err = h.remove(ctx, rm)
	case rm.tombstone > 0:
		h.client.janitor.add(rm)
	}
	now := time.Now()
	h.observers.push(Event{Kind: EventReleased, At: now, Duration: now.Sub(start), Err: err, Context: ctx})
	rest := h.granted.Add(rm.minHold)
	switch {
	case errors.Is(err, errTaken):
		h.finish(EndLost, LossTaken, h.lost(LossTaken, "another held its key before the release"))
	case errors.Is(err, ErrNotHeld):
		h.finish(EndLost, LossExpired, h.lost(LossExpired, "its key was gone before the release"))
	case h.degraded.Load() && now.Before(rest):
		h.client.scheduler.rest(h, rest)
	default:
		h.finish(EndReleased, "", ErrReleased)
	}
	return err
}

// finish ends a hold that was leaving. Its caller sees to the delivery of the event.
func (h *hold) finish(reason EndReason, loss LossReason, cause error) {
	h.mu.Lock()
	if h.phase != phaseLeaving {
		h.mu.Unlock()
		return
	}
	h.phase, h.reason = phaseEnded, reason
	h.mu.Unlock()
	h.observers.push(h.endEvent(reason, loss, cause))
}

// errNotSent is how a removal fares that was never tried.
var errNotSent = fmt.Errorf("%w: the release was not sent", ErrUnavailable)

var errTaken = errors.New("another holds the lock")

// removal is the work of taking a token out of Redis. Where a straggling acquire may
// yet come it leaves a tombstone, or that would be granted anew, to nobody.
func (h *hold) removal() *removal {
	h.mu.Lock()
	defer h.mu.Unlock()
	rm := &removal{key: h.key, id: h.id, minHold: h.minHold, until: h.lastKey, last: errNotSent, done: make(chan error, 1)}
	if h.straggler {
		rm.tombstone = tombstoneLife
		if t := time.Now().Add(tombstoneLife); t.After(rm.until) {
			rm.until = t
		}
	}
	return rm
}

// remove takes the hold's key out of Redis: by a command of its own at first, and
// where that is not answered by the janitor, until the key must be gone anyway.
func (h *hold) remove(ctx context.Context, rm *removal) error {
	c := h.client
	wait, cancel := releaseContext(ctx, 2*c.commandTimeout)
	defer cancel()
	s, left, err := c.standing(wait, opRelease, c.store.releaseEvals(h.id, rm.minHold, rm.tombstone), nil)
	switch {
	case left && err == nil:
		err = fmt.Errorf("%w: not confirmed yet", ErrUnavailable)
	case left:
	case err == nil:
		return rm.result(s)
	case errors.Is(err, ErrRefused):
		return err
	}
	rm.unanswered, rm.last = !errors.Is(err, errUnsent), err
	c.janitor.add(rm)
	select {
	case result := <-rm.done:
		return result
	case <-wait.Done():
		return fmt.Errorf("%w; the release goes on in the background: %w", err, contextError(wait))
	}
}

// releaseContext bounds the wait of a Release: by ctx while that lives and by
// bound in any case, but by a short grace where ctx has ended already.
func releaseContext(ctx context.Context, bound time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return context.WithTimeoutCause(ctx, bound, &TimeoutError{Limit: "release timeout", After: bound})
	}
	return context.WithTimeoutCause(context.WithoutCancel(ctx), releaseGrace, contextError(ctx))
}

// passedOn tells whether the token is another lease's now.
func (h *hold) passedOn() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.passed
}
