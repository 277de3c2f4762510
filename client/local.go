package client

import "time"

// NewLocalLease grants r's lock inside this process alone: a degraded lease, which
// has no fence, is not renewed (Extend moves its end, within Request.MaxTTL), and
// is released where it was granted. Promote brings it into Redis. It is for a layer
// that knows what excludes the others meanwhile, and takes only a Request that came
// down a Client's pipeline.
func NewLocalLease(r Request) (*Lease, error) {
	if r.call == nil {
		return nil, invalid("the request did not come from a Client")
	}
	if err := r.check(); err != nil {
		return nil, &Error{Op: opAcquire, Key: r.Key, Err: err}
	}
	call := r.call
	call.disinherit()
	call.mu.Lock()
	if call.token == "" {
		call.token = newToken()
	}
	id := leaseID{call.locks, call.token}
	call.mu.Unlock()
	return call.grant(grant{req: r, sent: time.Now(), ttl: max(r.TTL, r.MinHold), id: id, degraded: true, noRenewal: true})
}

// localDeadline needs no allowance for drift: one clock counts.
func localDeadline(from time.Time, ttl time.Duration) deadline {
	at := from.Add(ttl)
	return deadline{mono: at, wall: at.Round(0)}
}

// localTerms is what a degraded lease needs to know of its call for its promotion.
type localTerms struct {
	traceparent string
	noRenewal   bool
}

// extendLocally moves the end of a degraded lease, and is false where it is not one.
func (h *hold) extendLocally(ttl time.Duration) bool {
	now := time.Now()
	h.mu.Lock()
	if !h.degraded.Load() {
		h.mu.Unlock()
		return false
	}
	live := h.phase == phaseLive
	if live {
		h.deadline, h.ttl = h.deadline.later(localDeadline(now, ttl)), ttl
		headroom := float64(h.deadline.left(now)) / float64(ttl)
		h.observers.push(Event{Kind: EventRenewed, At: now, Headroom: min(headroom, 1)})
	}
	h.mu.Unlock()
	if live {
		h.client.scheduler.reschedule(h, now)
		h.client.dispatcher.deliver(h)
	}
	return true
}
