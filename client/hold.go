package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// hold is one grant. Its handles, the Leases, are one per acquire: more than one
// where Reentrant nested.
type hold struct {
	client        *Client
	key, class    string
	keys          []string // of AcquireAll
	owner         string
	id            leaseID
	fence         uint64 // of a degraded lease 0, until that is promoted
	degraded      atomic.Bool
	local         localTerms
	granted       time.Time
	maxTTL        time.Duration
	renewInterval time.Duration
	maxHoldAt     time.Time     // zero for none
	since         time.Time     // of the first lease of its tenure
	first         time.Duration // the TTL that the tenure began with
	grants        int           // the how manieth of its tenure it is

	ctx       *leaseContext
	cancel    context.CancelCauseFunc
	detach    func() bool // stops watching the parent
	observers observers

	// ending is held from the end of the hold until its event is queued, so that a
	// Release of a hold that has just ended delivers that before it returns.
	ending sync.Mutex

	mu        sync.Mutex
	mode      Mode
	next      func(*Tenure) bool // who may have the lock next; see Lease.Offer
	passed    bool               // its token is another lease's now
	asking    *atomic.Int32      // attempts of its call under way
	handles   int
	ttl       time.Duration // of later renewals
	deadline  deadline
	lastKey   time.Time // until when the key may be in Redis, whatever was confirmed
	phase     phase
	reason    EndReason
	minHold   time.Duration
	noRenewal bool
	promoting bool // Promote is under way
	straggler bool // an acquire of its token may yet reach Redis, or be in a buffer there
	unsure    bool // a command that extends was sent and not answered
	renewErr  error
	nested    map[<-chan struct{}]context.Context // ends of nested handles; see endOf

	// The scheduler's, under its lock.
	index    int
	due      time.Time // when it has to be looked at
	renewAt  time.Time
	renewing bool
}

// phase is how far a hold has come.
type phase uint8

const (
	phaseLive    phase = iota
	phaseLeaving       // Release was called: the context has ended, the key is on its way out
	phaseEnded
)

type grant struct {
	req       Request
	fence     uint64
	tenure    *Tenure       // whose next lease it is, nil for one that Redis granted
	sent      time.Time     // before the command that was granted, or no later than the hand-off
	ttl       time.Duration // from then on, until the first renewal
	id        leaseID
	degraded  bool
	reserved  bool // handed over: ttl is not its own
	noRenewal bool
	straggler bool
}

// newLease makes the hold of a grant with its first handle, and puts it under
// the scheduler's eyes.
func (c *Client) newLease(g grant) *Lease {
	call := g.req.call
	h := &hold{
		asking: &call.asking, client: c, key: g.req.Key, keys: g.req.Keys, class: g.req.Class, mode: g.req.Mode, owner: g.req.Owner,
		id: g.id, fence: g.fence,
		granted: time.Now(), minHold: g.req.MinHold, maxTTL: g.req.MaxTTL, straggler: g.straggler,
		renewInterval: call.opts.renewInterval, noRenewal: g.noRenewal,
		handles: 1, ttl: g.req.TTL, deadline: deadlineAt(g.sent, g.ttl), lastKey: g.sent.Add(g.ttl), index: -1,
	}
	if d := call.opts.maxHold; d > 0 {
		h.maxHoldAt = h.granted.Add(d)
	}
	if g.degraded {
		h.degraded.Store(true)
		h.local = localTerms{call.traceparent, call.opts.noRenewal}
		h.deadline = localDeadline(g.sent, g.ttl)
	}
	h.since, h.first, h.grants = h.granted, g.ttl, 1
	inner, cancel := context.WithCancelCause(call.ctx)
	h.ctx, h.cancel = &leaseContext{inner, h}, cancel
	h.renewAt = g.sent.Add(h.interval())
	if g.reserved {
		h.lastKey = h.granted.Add(g.ttl)
		h.renewAt = h.granted.Add(min(h.deadline.left(h.granted)/3, h.interval()))
	}
	if t := g.tenure; t != nil {
		h.since, h.grants, h.deadline, h.lastKey = t.since, t.grants, t.deadline, t.lastKey
		h.renewAt = h.granted.Add(min(h.deadline.left(h.granted)/3, h.interval()))
		h.straggler, h.unsure = t.straggler, t.unsure
	}
	lease := &Lease{hold: h, ctx: h.ctx, done: make(chan struct{})}
	h.observers.lease = lease
	h.observers.log = c.logger
	c.scheduler.add(h)
	detach := context.AfterFunc(call.ctx, func() { h.end(EndCanceled, "", context.Cause(call.ctx)) })
	h.mu.Lock()
	h.detach = detach
	over := h.phase != phaseLive
	h.mu.Unlock()
	if over {
		detach()
	}
	return lease
}

// interval is the time between renewals.
func (h *hold) interval() time.Duration {
	if h.renewInterval > 0 {
		return h.renewInterval
	}
	return h.ttl / 3
}

// nest adds a handle for an acquire made under ctx, which has the hold's context
// among its ancestors, or at least its values. It fails when the hold, or ctx, has
// come to its end.
func (h *hold) nest(ctx context.Context, minHold time.Duration) (*Lease, bool) {
	if ctx.Err() != nil {
		return nil, false
	}
	h.expire()
	h.mu.Lock()
	live := h.phase == phaseLive
	if live {
		h.handles++
		h.minHold = max(h.minHold, minHold)
	}
	h.mu.Unlock()
	if !live {
		return nil, false
	}
	nested := &leaseContext{&nestedContext{ctx, h.endOf(ctx)}, h}
	return &Lease{hold: h, ctx: nested, done: make(chan struct{})}, true
}

// straggles notes that an acquire of the hold's token may yet come.
func (h *hold) straggles() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.straggler = true
}

// covers tells whether the hold is on key, in that mode.
func (h *hold) covers(key string, mode Mode) bool {
	if h.keys == nil && h.key != key || h.keys != nil && !slices.Contains(h.keys, key) {
		return false
	}
	return h.modeNow() == mode
}

func (h *hold) modeNow() Mode {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mode
}

func (h *hold) live() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.phase == phaseLive
}

// expire ends a hold whose deadline has passed, or whose parent context has ended.
func (h *hold) expire() {
	now := time.Now()
	h.mu.Lock()
	over := h.phase == phaseLive && h.deadline.passed(now)
	h.mu.Unlock()
	if over {
		h.lose(now)
	} else if h.ctx.Context.Err() != nil {
		h.end(EndCanceled, "", context.Cause(h.ctx.Context))
	}
}

// lose ends a hold whose deadline has passed, for the reason that fits.
func (h *hold) lose(now time.Time) {
	h.mu.Lock()
	renewErr, unsure, lastKey, noRenewal, straggler := h.renewErr, h.unsure, h.lastKey, h.noRenewal, h.straggler
	h.mu.Unlock()
	loss, reason, detail := LossExpired, EndLost, "its time passed before a renewal was due or could be sent"
	switch {
	case noRenewal:
		reason, detail = EndExpired, "its TTL passed and it is not renewed"
	case renewErr != nil:
		loss, detail = LossUnreachable, fmt.Sprintf("its time passed while renewals failed: %v", renewErr)
	}
	ended := h.end(reason, loss, &Error{Op: "hold", Key: h.key, Err: &LostError{reason, loss, detail}})
	if ended && (straggler || unsure && now.Before(lastKey)) {
		// A renewal without an answer may have kept the key, and an acquire may yet take
		// it: nobody would renew it, and nobody else could have it.
		h.client.janitor.add(h.removal())
	}
}

// end ends a live hold, and has its observers told in the background. It reports
// whether it was this call that did.
func (h *hold) end(reason EndReason, loss LossReason, cause error) bool {
	if !h.conclude(reason, loss, cause) {
		return false
	}
	h.client.dispatcher.deliver(h)
	return true
}

// conclude ends a live hold: its context first, then, for those who observe it,
// the hold. Its caller sees to the delivery.
func (h *hold) conclude(reason EndReason, loss LossReason, cause error) bool {
	h.ending.Lock()
	defer h.ending.Unlock()
	h.mu.Lock()
	if h.phase != phaseLive {
		h.mu.Unlock()
		return false
	}
	h.phase, h.reason = phaseEnded, reason
	h.mu.Unlock()
	h.stop(cause)
	h.observers.push(h.endEvent(reason, loss, cause))
	return true
}

// stop ends the context and takes the hold from the scheduler.
func (h *hold) stop(cause error) {
	h.cancel(cause)
	h.mu.Lock()
	detach := h.detach
	h.mu.Unlock()
	if detach != nil {
		detach()
	}
	h.client.scheduler.remove(h)
}

func (h *hold) endEvent(reason EndReason, loss LossReason, cause error) Event {
	now := time.Now()
	return Event{Kind: EventEnded, At: now, Duration: now.Sub(h.granted), Err: cause, Reason: reason, Loss: loss}
}

func (h *hold) observe(fn func(Event)) { h.observers.add(fn) }
