package client

import "time"

const (
	// maxTenureGrants is how many leases a tenure may have, and how many fences a grant
	// reserves: lua/lock.lua has the same number.
	maxTenureGrants = 32
	// maxTenure is for how long they may follow each other: those who wait in other
	// processes wait for all of them.
	maxTenure = 20 * time.Millisecond
)

// Tenure is a process's hold on a lock in Redis, on its way from a lease that was
// released to the next one of the same process, without a word to Redis. The leases
// follow each other under one token; each has a fence of its own, from those that the
// grant reserved.
type Tenure struct {
	client    *Client
	key       string
	id        leaseID
	class     string
	fence     uint64
	grants    int       // leases so far
	since     time.Time // of the first of them
	deadline  deadline
	first     time.Duration // what the first TTL was
	ttl       time.Duration
	interval  time.Duration
	maxTTL    time.Duration
	lastKey   time.Time
	straggler bool
	unsure    bool
}

// WithoutLocalHandOver has each Release give the lock back to Redis, even where the
// next who waits for it is of this process. Default: a lock that many in one process
// want is passed on among them without asking Redis, up to 32 times or for 20 ms in a
// row, where they ask for it with equal options, exclusively and with renewal. Each of
// their leases has a fence of its own, but they share a token, and others see the first
// of them in the holder record.
func WithoutLocalHandOver() Option {
	return clientOption(func(c *config) error {
		c.noHandOver = true
		return nil
	})
}

// Offer has Release ask next, before it gives the lock back, whether somebody in this
// process is to have it next: for the layer that lines up those who wait. next must
// not block, and reports whether it has passed the tenure to a call by Call.Inherit.
// It is asked only where the lock may be passed on: held exclusively, alone, with
// renewal and without a minimum hold, with more than half of its first TTL left, and
// not too often in a row.
func (l *Lease) Offer(next func(*Tenure) bool) {
	if l.none() || l.hold.client.noHandOver {
		return
	}
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	l.hold.next = next
}

// Fits tells whether c asks for just what the tenure is.
func (t *Tenure) Fits(c *Call) bool {
	o := &c.opts
	return c.client == t.client && o.class == t.class && o.ttl == t.ttl && o.renewInterval == t.interval &&
		!o.noRenewal && o.minHold == 0 && o.mode == Exclusive && o.owner == "" && len(c.locks) == 1
}

// Inherit gives the call a tenure. Its attempt then gets the lease without asking
// Redis; where the call ends without an attempt, the lock is given back.
func (c *Call) Inherit(t *Tenure) {
	c.mu.Lock()
	w, before := c.waiter, (*removal)(nil)
	if c.token != "" && (c.dirty || c.engaged) {
		before = c.removal(c.token, c.dirty) // what it had asked for under another token
	}
	c.waiter = nil
	c.tenure, c.token, c.engaged, c.dirty = t, t.id.token, true, t.straggler
	c.mu.Unlock()
	if w != nil {
		c.client.waiters.leave(w)
	}
	if before != nil {
		c.client.janitor.add(before)
	}
}

// disinherit gives back a tenure that the call has not used.
func (c *Call) disinherit() {
	c.mu.Lock()
	t := c.tenure
	if t != nil {
		c.tenure, c.token, c.engaged = nil, "", false
	}
	c.mu.Unlock()
	if t != nil {
		t.GiveBack()
	}
}

// GiveBack releases the lock, for a call that is not to have it after all.
func (t *Tenure) GiveBack() {
	now := time.Now()
	rm := &removal{key: t.key, id: t.id, until: now.Add(max(t.lastKey.Sub(now), t.ttl)), last: errNotSent, done: make(chan error, 1)}
	if t.straggler {
		rm.tombstone = tombstoneLife
	}
	t.client.janitor.add(rm)
}

// inherited makes a grant of the tenure that the call was given, if it is still good.
func (c *Call) inherited(req Request) (grant, bool) {
	c.mu.Lock()
	t := c.tenure
	good := t != nil && req.TTL == t.ttl && req.MaxTTL == t.maxTTL &&
		req.MinHold == 0 && req.Mode == Exclusive && req.Owner == "" && t.deadline.left(time.Now()) >= t.first/4
	if good {
		c.tenure, c.wake = nil, WakeLocal
	}
	c.mu.Unlock()
	if !good {
		c.disinherit()
		return grant{}, false
	}
	c.client.store.saw(t.fence)
	return grant{req: req, fence: t.fence, sent: t.since, ttl: t.first, id: t.id, tenure: t}, true
}

// tenure is what h leaves to the next lease of this process, nil where the lock has to
// go back to Redis. Its caller holds h.mu.
func (h *hold) tenure(now time.Time) *Tenure {
	fit := h.next != nil && !h.degraded.Load() && !h.noRenewal && h.mode == Exclusive && h.owner == "" && h.minHold == 0 &&
		len(h.id.locks) == 1 && h.renewErr == nil && h.asking.Load() == 0
	if !fit || h.grants >= maxTenureGrants || now.Sub(h.since) >= maxTenure || h.deadline.left(now) < h.first/2 {
		return nil
	}
	return &Tenure{client: h.client, key: h.key, id: h.id, class: h.class, fence: h.fence + 1, grants: h.grants + 1, since: h.since,
		deadline: h.deadline, first: h.first, ttl: h.ttl, interval: h.renewInterval, maxTTL: h.maxTTL,
		lastKey: h.lastKey, straggler: h.straggler, unsure: h.unsure}
}
