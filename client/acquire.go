package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Acquire takes the lock on key. How long it waits for a lock that is held is for
// the pipeline to say: with that of holdfast.New until ctx ends, with none not at
// all.
//
// ctx bounds the wait and then carries the lease: when it ends, so does
// Lease.Context, renewal stops, and the key goes at Release or after its TTL. To
// bound the wait alone use WithWaitTimeout.
//
// Exactly one of lease and error is nil. The error matches one of ErrNotAcquired,
// ErrUnavailable, ErrRefused, ErrClosed and ErrInvalid, or is that of a layer;
// where the context ended it matches the context's error too.
func (c *Client) Acquire(ctx context.Context, key string, opts ...AcquireOption) (*Lease, error) {
	return c.acquire(ctx, key, true, opts)
}

// TryAcquire is Acquire for those who do not want to wait for a holder: it fails
// with ErrNotAcquired when the lock is held.
func (c *Client) TryAcquire(ctx context.Context, key string, opts ...AcquireOption) (*Lease, error) {
	return c.acquire(ctx, key, false, opts)
}

func (c *Client) acquire(ctx context.Context, key string, wait bool, opts []AcquireOption) (*Lease, error) {
	o := c.defaults
	err := checkKey(ctx, key)
	if err == nil {
		err = o.apply(opts)
	}
	if err != nil {
		return nil, &Error{Op: opAcquire, Key: key, Err: err}
	}
	if o.reentrant {
		if h, ok := ctx.Value(nesting{c, key, o.mode}).(*hold); ok {
			if h.maxTTL > 0 && o.minHold > h.maxTTL {
				return nil, &Error{Op: opAcquire, Key: key, Err: invalid("minimum hold %v is above the %v that class %q allows", o.minHold, h.maxTTL, h.class)}
			}
			if lease, ok := h.nest(ctx, o.minHold); ok {
				return lease, nil
			}
		}
	}
	return c.enter(ctx, key, nil, wait, o)
}

// enter sends a call through the pipeline. keys are those of AcquireAll, sorted.
func (c *Client) enter(ctx context.Context, name string, keys []string, wait bool, o acquireOptions) (*Lease, error) {
	locks := make([]string, 0, max(1, len(keys)))
	for _, key := range keys {
		locks = append(locks, lockKey(c.prefix, key))
	}
	if keys == nil {
		locks = append(locks, lockKey(c.prefix, name))
	}
	if err := c.clash(ctx, o.mode, name, keys); err != nil {
		return nil, &Error{Op: opAcquire, Key: name, Err: err}
	}
	if !c.begin() {
		return nil, &Error{Op: opAcquire, Key: name, Err: ErrClosed}
	}
	defer c.calls.add(-1)

	call := &Call{client: c, key: name, locks: locks, opts: o, ctx: ctx, start: time.Now()}
	req := Request{Key: name, Keys: keys, Class: o.class, TTL: o.ttl, Wait: wait, WaitTimeout: o.waitTimeout,
		MinHold: o.minHold, Mode: o.mode, Slots: o.slots, Owner: o.owner, Barge: o.barge, call: call}
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(c.closing, func() { cancel(context.Cause(c.closing)) })
	defer stop()

	delivered := false
	defer func() {
		call.mu.Lock()
		call.over = true
		call.mu.Unlock()
		if !delivered {
			c.abandon(call)
		}
	}()
	lease, err := c.handler(bounded, req)
	switch {
	case err == nil && lease == nil:
		err = invalid("a layer of the pipeline returned neither lease nor error")
	case err == nil && bounded.Err() != nil:
		err = WaitEnded(bounded, req, nil)
	}
	if err != nil {
		return nil, withKey(err, name)
	}
	delivered = true
	return lease, nil
}

var (
	// errUpgrade: of two who held the lock shared and wanted it alone, neither would
	// ever get it.
	errUpgrade   = invalid("the caller holds the lock shared: release that lease first, or take it exclusive from the start and Downgrade")
	errDowngrade = invalid("the caller holds the lock exclusively: Downgrade that lease to share it")
)

// clash tells whether the call would wait for the very lease whose context it was made
// from: one of the other mode.
func (c *Client) clash(ctx context.Context, mode Mode, name string, keys []string) error {
	if keys == nil {
		keys = []string{name}
	}
	for _, key := range keys {
		under := func(m Mode) bool {
			h, ok := ctx.Value(nesting{c, key, m}).(*hold)
			return ok && h.live()
		}
		switch {
		case mode == Exclusive && under(SharedMode):
			return errUpgrade
		case mode == SharedMode && under(Exclusive):
			return errDowngrade
		}
	}
	return nil
}

func (o *acquireOptions) apply(opts []AcquireOption) error {
	for i, opt := range opts {
		if opt == nil {
			return invalid("option %d is nil", i)
		}
		if err := opt.applyAcquire(o); err != nil {
			return err
		}
	}
	if len(opts) == 0 {
		return nil
	}
	return o.check()
}

func withKey(err error, key string) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return &Error{Op: opAcquire, Key: key, Err: err}
}

// begin admits a call, unless the Client is closed.
func (c *Client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.calls.add(1)
	return true
}

// abandon cleans up, once, after a call that ended without a lease: what it may
// hold in Redis all the same is taken out, and its token never gets in again.
func (c *Client) abandon(call *Call) {
	call.mu.Lock()
	token, dirty, lease, w := call.token, call.dirty, call.lease, call.waiter
	engaged := call.engaged
	call.mu.Unlock()
	if w != nil {
		c.waiters.leave(w)
	}
	if lease != nil {
		h := lease.hold
		if h.passedOn() {
			return
		}
		h.end(EndCanceled, "", &Error{Op: opAcquire, Key: h.key, Err: errors.New("the acquire did not return the lease")})
		dirty = dirty || h.inRedis()
	}
	if dirty || engaged {
		c.janitor.add(call.removal(token, dirty))
	}
}

// removal takes out of Redis what a call may hold there, its place in the queue
// too. Where a command of it is unanswered, a tombstone keeps that from coming late.
func (c *Call) removal(token string, dirty bool) *removal {
	rm := &removal{
		key: c.key, id: leaseID{c.locks, token},
		until: time.Now().Add(max(c.opts.ttl, c.opts.minHold) + tombstoneLife),
		last:  errNotSent,
		done:  make(chan error, 1),
	}
	if dirty {
		rm.tombstone = tombstoneLife
	}
	return rm
}

// attempt is the core of the pipeline: one run of the acquire script.
func (c *Client) attempt(ctx context.Context, req Request) (*Lease, error) {
	call := req.call
	if ctx.Err() != nil {
		return nil, call.ended(ctx, req)
	}
	if err := req.check(); err != nil {
		return nil, &Error{Op: opAcquire, Key: req.Key, Err: err}
	}
	call.asking.Add(1)
	defer call.asking.Add(-1)
	inherited, ok := call.inherited(req)
	id, traceparent, lease := call.begin()
	if lease != nil {
		return lease, nil
	}
	if ok {
		return call.grant(inherited)
	}
	sent := time.Now()
	var w *waiter
	if req.Enqueue {
		w = call.enqueue(id, sent)
		if g, ok := c.handed(w, req, sent); ok {
			return call.grant(g)
		}
	}
	ttl := max(req.TTL, req.MinHold)
	result, left, err := c.ask(ctx, req, id, traceparent, w)
	if left {
		if !errors.Is(err, errUnsent) {
			call.unknown()
		}
		return nil, call.ended(ctx, req)
	}
	switch {
	case err != nil:
		if errors.Is(err, ErrUnavailable) && !errors.Is(err, errCrowded) {
			call.unknown()
		}
	case result.held != nil:
		if len(req.Keys) > 0 {
			result.held.Key = req.Keys[result.which]
		}
		call.Blocked(result.held)
		if w != nil {
			call.queued(result)
			c.waiters.stands(w, sent, ttl/3, result)
		}
		err = result.held
	case result.withdrawn:
		err = fmt.Errorf("%w: the token of this acquire was withdrawn", ErrUnavailable)
	case deadlineAt(sent, ttl).passed(time.Now()):
		call.unknown()
		err = fmt.Errorf("%w: the grant came after the TTL of %v had passed: choose a longer one", ErrUnavailable, ttl)
	default:
		return call.grant(grant{req: req, fence: result.fence, sent: sent, ttl: ttl, id: id, noRenewal: call.opts.noRenewal})
	}
	err = &Error{Op: opAcquire, Key: req.Key, Err: err}
	call.note(err)
	return nil, err
}

// handed makes a grant of a hand-off that a message told of, without a command. A
// lease whose own TTL must count from its first moment, and one of whose reservation
// little may be left, has to be confirmed by the script instead.
func (c *Client) handed(w *waiter, req Request, now time.Time) (grant, bool) {
	h, ok := c.waiters.handed(w)
	if !ok || len(w.lease.locks) > 1 || req.call.opts.noRenewal || req.MinHold > 0 || req.TTL < reservation || now.Sub(h.since) > reservation/2 {
		return grant{}, false
	}
	c.store.saw(h.fence)
	return grant{req: req, fence: h.fence, sent: h.since, ttl: reservation, id: w.lease, reserved: true}, true
}

// check guards the script from a layer that edited its request badly.
func (r Request) check() error {
	if r.MaxTTL > 0 && (r.TTL > r.MaxTTL || r.MinHold > r.MaxTTL) {
		return invalid("TTL %v and minimum hold %v must be at most the %v that class %q allows", r.TTL, r.MinHold, r.MaxTTL, r.Class)
	}
	return errors.Join(checkTTL("TTL", r.TTL), checkRenewal(r.TTL, r.call.opts.renewInterval), checkMode(r.Mode, r.Slots, r.Owner, r.MinHold))
}
