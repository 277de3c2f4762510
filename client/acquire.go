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
	if err := prepare(ctx, key, &o, opts); err != nil {
		return nil, &Error{Op: opAcquire, Key: key, Err: err}
	}
	if o.reentrant {
		if h, ok := ctx.Value(nesting{c, key, Exclusive}).(*hold); ok {
			if lease, ok := h.nest(ctx, o.minHold); ok {
				return lease, nil
			}
		}
	}
	if !c.begin() {
		return nil, &Error{Op: opAcquire, Key: key, Err: ErrClosed}
	}
	defer c.calls.add(-1)

	call := &Call{client: c, key: key, opts: o, ctx: ctx, start: time.Now()}
	req := Request{Key: key, Class: o.class, TTL: o.ttl, Wait: wait, WaitTimeout: o.waitTimeout,
		MinHold: o.minHold, Owner: o.owner, call: call}
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(c.closing, func() { cancel(context.Cause(c.closing)) })
	defer stop()

	delivered := false
	defer func() {
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
		return nil, withKey(err, key)
	}
	delivered = true
	return lease, nil
}

func prepare(ctx context.Context, key string, o *acquireOptions, opts []AcquireOption) error {
	if err := checkKey(ctx, key); err != nil {
		return err
	}
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
	token, dirty, lease := call.token, call.dirty, call.lease
	call.mu.Unlock()
	if lease != nil {
		h := lease.hold
		h.end(EndCanceled, "", &Error{Op: opAcquire, Key: h.key, Err: errors.New("the acquire did not return the lease")})
		dirty = dirty || !h.degraded
	}
	if dirty {
		c.janitor.add(call.removal(token))
	}
}

// removal takes out of Redis what a call may hold there.
func (c *Call) removal(token string) *removal {
	return &removal{
		key: c.key, id: leaseID{lockKey(c.client.prefix, c.key), token},
		tombstone: tombstoneLife,
		until:     time.Now().Add(max(c.opts.ttl, c.opts.minHold) + tombstoneLife),
		last:      errNotSent,
		done:      make(chan error, 1),
	}
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
	id, traceparent, lease := call.begin()
	if lease != nil {
		return lease, nil
	}
	ttl := max(req.TTL, req.MinHold)
	sent := time.Now()
	v, left, err := c.eval(ctx, opAcquire, c.commandTimeout, req.settle, c.store.acquireEval(id, req, traceparent))
	if left {
		call.unknown()
		return nil, call.ended(ctx, req)
	}
	var result acquireResult
	if err == nil {
		result, err = c.store.acquired(v)
	}
	switch {
	case err != nil:
		if !errors.Is(err, ErrRefused) && !errors.Is(err, errCrowded) {
			call.unknown()
		}
	case result.held != nil:
		call.Blocked(result.held)
		err = result.held
	case result.withdrawn:
		err = fmt.Errorf("%w: the token of this acquire was withdrawn", ErrUnavailable)
	case deadlineAt(sent, ttl).passed(time.Now()):
		call.unknown()
		err = fmt.Errorf("%w: the grant came after the TTL of %v had passed: choose a longer one", ErrUnavailable, ttl)
	default:
		return call.granted(grant{req: req, fence: result.fence, sent: sent, id: id, noRenewal: call.opts.noRenewal}), nil
	}
	err = &Error{Op: opAcquire, Key: req.Key, Err: err}
	call.note(err)
	return nil, err
}

// check guards the script from a layer that edited its request badly.
func (r Request) check() error {
	if r.MaxTTL > 0 && (r.TTL > r.MaxTTL || r.MinHold > r.MaxTTL) {
		return invalid("TTL %v and minimum hold %v must be at most the %v that class %q allows", r.TTL, r.MinHold, r.MaxTTL, r.Class)
	}
	return errors.Join(checkTTL("TTL", r.TTL), checkRenewal(r.TTL, r.call.opts.renewInterval))
}
