package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Call is the record of one logical acquire, shared by all copies of its
// Request: through it the inner layers tell the outer ones what happened.
// Its methods are safe for concurrent use.
type Call struct {
	client *Client
	key    string
	locks  []string // in Redis, in the order in which they are taken
	opts   acquireOptions
	ctx    context.Context // the caller's: the one that carries the lease
	start  time.Time

	mu              sync.Mutex
	token           string
	traceparent     string
	attempts        int
	shortCircuits   int
	degraded        string // see SetDegraded
	suppressed      int
	firstHeld, held *HeldError
	last            error // how the last attempt ended, as far as known
	dirty           bool  // an attempt was sent and its outcome is not known
	lease           *Lease
	asking          atomic.Int32 // attempts under way
	over            bool         // the call has returned

	tenure   *Tenure // that a lease of this process left to it
	waiter   *waiter // its place in the queue in Redis, once it asked for one
	engaged  bool    // it has something in Redis: a place, or some of several locks
	taken    int     // how many of several locks it had at most
	ticket   string  // which one, or the one that it inherited
	position int
	wake     WakeSource
}

// begin starts an attempt. It returns the identity under which to ask, one for the
// whole call, or the lease that an earlier attempt of the call got and that lives.
func (c *Call) begin() (id leaseID, traceparent string, live *Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempts++
	if c.lease != nil {
		if c.lease.hold.standing() == nil {
			return leaseID{}, "", c.lease
		}
		c.lease, c.token, c.ticket, c.taken = nil, "", "", 0 // released by a layer: what comes next is another lease
	}
	if c.token == "" {
		c.token = newToken()
	}
	return leaseID{c.locks, c.token}, c.traceparent, nil
}

// granted makes the lease of a grant. Where attempts overlapped they share one. It is
// nil where the call has returned: nobody would release it.
func (c *Call) granted(g grant) *Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lease == nil || c.lease.hold.standing() != nil {
		if c.over { // an attempt that overlapped, and came after the call's end
			c.client.janitor.add(c.removal(g.id.token, true))
			return nil
		}
		g.straggler = c.dirty
		c.lease = c.client.newLease(g)
	}
	if c.waiter != nil {
		c.wake = c.client.waiters.leave(c.waiter)
		c.waiter = nil
	}
	c.engaged = false
	c.last = nil
	return c.lease
}

func (c *Call) lastOutcome() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// took notes that the first n of several locks are the call's, for now.
func (c *Call) took(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.engaged, c.taken = true, max(c.taken, n)
}

// tookAll returns the most that it has taken so far.
func (c *Call) tookAll() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken
}

// grant is granted with the error of a call that has returned.
func (c *Call) grant(g grant) (*Lease, error) {
	if l := c.granted(g); l != nil {
		return l, nil
	}
	return nil, &Error{Op: opAcquire, Key: c.key, Err: fmt.Errorf("%w: the call has returned", ErrUnavailable)}
}

// note keeps how an attempt ended.
func (c *Call) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = err
}

// unknown notes that an attempt may have been granted though no grant was seen. If
// it overlapped with one that was, it is for that one's lease to remember.
func (c *Call) unknown() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirty = true
	if c.lease == nil {
		return
	}
	if c.lease.hold.straggles(); c.lease.hold.standing() != nil {
		c.client.janitor.add(c.removal(c.token, true))
	}
}

// ended is the error of an attempt whose ctx ended: the limit of a layer is no
// business of the caller's context.
func (c *Call) ended(ctx context.Context, req Request) error {
	var limit *TimeoutError
	if errors.As(context.Cause(ctx), &limit) && !limit.Wait {
		err := &Error{Op: opAcquire, Key: req.Key, Err: fmt.Errorf("%w: %w", ErrUnavailable, limit)}
		c.note(err)
		return err
	}
	return WaitEnded(ctx, req, nil)
}

// Attempts returns how many attempts reached the core of the pipeline.
func (c *Call) Attempts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attempts
}

// Blockers returns the first and the last holder that an attempt met, nil where
// none did.
func (c *Call) Blockers() (first, last *HeldError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.firstHeld, c.held
}

// Blocked notes that h holds the lock.
func (c *Call) Blocked(h *HeldError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.firstHeld == nil {
		c.firstHeld = h
	}
	c.held = h
}

// Waited notes that the call waited inside this process for one who had the lock,
// and may now go on: what is known of the lock until an attempt has learnt more.
func (c *Call) Waited() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = &HeldError{Local: true}
	}
}

// ShortCircuited counts an attempt that an open breaker refused.
func (c *Call) ShortCircuited() {
	c.mu.Lock()
	c.shortCircuits++
	c.mu.Unlock()
}

// ShortCircuits returns how many attempts an open breaker refused.
func (c *Call) ShortCircuits() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shortCircuits
}

// RetrySuppressed counts a retry that the retry budget refused.
func (c *Call) RetrySuppressed() {
	c.mu.Lock()
	c.suppressed++
	c.mu.Unlock()
}

// RetriesSuppressed returns how many retries the retry budget refused.
func (c *Call) RetriesSuppressed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.suppressed
}

// SetTraceparent sets the W3C traceparent that the holder record will carry, so
// that a waiter elsewhere can link to the holder's span.
func (c *Call) SetTraceparent(tp string) {
	c.mu.Lock()
	c.traceparent = tp
	c.mu.Unlock()
}

// Started returns the instant at which the caller called.
func (c *Call) Started() time.Time { return c.start }
