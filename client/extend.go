package client

import (
	"context"
	"fmt"
	"time"
)

// extend is Lease.Extend. The command runs on if the caller leaves, and what it
// achieves counts.
func (h *hold) extend(ctx context.Context, ttl time.Duration) error {
	if err := checkTTL("TTL", ttl); err != nil {
		return err
	}
	if h.maxTTL > 0 && ttl > h.maxTTL {
		return invalid("TTL %v is above the %v that class %q allows", ttl, h.maxTTL, h.class)
	}
	if err := checkRenewal(ttl, h.renewInterval); err != nil {
		return err
	}
	if err := h.standing(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: nothing was sent: %w", ErrUnavailable, contextError(ctx))
	}
	sent := time.Now()
	if h.extendLocally(ttl) {
		return h.standing()
	}
	_ = h.sending(sent, ttl)
	c := h.client
	s, left, err := c.standing(ctx, opExtend, c.store.extendEvals(h.id, ttl), func(s standing) { h.answered(sent, ttl, s, true) })
	switch {
	case left:
		return fmt.Errorf("%w: the caller left before the answer: %w", ErrUnavailable, contextError(ctx))
	case err != nil:
		return err
	case s != standingOurs:
		return fmt.Errorf("%w: %s", ErrNotHeld, s)
	}
	return h.standing()
}

// standing is nil while the lease is ours, by what is known here.
func (h *hold) standing() error {
	h.expire()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == phaseLive {
		return nil
	}
	if h.phase == phaseLeaving {
		return fmt.Errorf("%w: it was released", ErrNotHeld)
	}
	return fmt.Errorf("%w: the lease had ended (%s)", ErrNotHeld, h.reason)
}

// sending notes that a command is on its way that may keep the key until ttl after
// it was sent, and returns ttl: 0 stands for that of the renewals.
func (h *hold) sending(sent time.Time, ttl time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ttl == 0 {
		ttl = h.ttl
	}
	h.unsure = true
	if t := sent.Add(ttl); t.After(h.lastKey) {
		h.lastKey = t
	}
	return ttl
}

// answered takes the reply to a renewal or an Extend that was sent at the instant
// sent. It may come late, and in any order.
func (h *hold) answered(sent time.Time, ttl time.Duration, s standing, explicit bool) {
	switch s {
	case standingOurs:
		h.confirm(sent, ttl, explicit)
	case standingTaken:
		h.end(EndLost, LossTaken, h.lost(LossTaken, "another holds its key"))
	default:
		h.end(EndLost, LossExpired, h.lost(LossExpired, "its key is gone from Redis: expired, deleted or evicted"))
	}
}

func (h *hold) lost(loss LossReason, detail string) error {
	return &Error{Op: "hold", Key: h.key, Err: &LostError{EndLost, loss, detail}}
}

// confirm moves the deadline to what a command achieved that was sent at the
// instant sent. explicit is true for an Extend, which sets later renewals too.
func (h *hold) confirm(sent time.Time, ttl time.Duration, explicit bool) {
	now := time.Now()
	h.mu.Lock()
	if h.phase != phaseLive {
		remove := !h.degraded.Load() && (h.reason == EndLost || h.reason == EndExpired) && h.phase == phaseEnded
		h.mu.Unlock()
		if remove {
			h.client.janitor.add(h.removal())
		}
		return
	}
	h.deadline = h.deadline.later(deadlineAt(sent, ttl))
	if explicit {
		h.ttl = ttl
	}
	h.unsure, h.renewErr = false, nil
	headroom := float64(h.deadline.left(now)) / float64(ttl)
	renewAt := sent.Add(h.interval())
	h.mu.Unlock()
	h.client.scheduler.reschedule(h, renewAt)
	h.client.dispatcher.post(h, Event{Kind: EventRenewed, At: now, Duration: now.Sub(sent), Headroom: min(max(headroom, 0), 1)})
}

func (s standing) String() string {
	switch s {
	case standingTaken:
		return "another holds the lock"
	case standingGone:
		return "its key is gone from Redis: expired, deleted or evicted"
	case standingResting:
		return "the lock rests for its minimum hold"
	}
	return "held"
}
