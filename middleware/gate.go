package middleware

import (
	"context"

	"github.com/holdfast-go/holdfast/client"
)

// Gate lines up the callers of this process: of those who want the same lock only
// as many go on to Redis as can hold it together, and the others wait here, first
// come, first served, at no cost to Redis. Whoever got the lock keeps its place in
// the gate until its lease ends; one who did not gives it up when it comes back, by
// a panic too. All gates of the process are one: callers meet where Request.Scope
// and Key are equal, whichever Client they use.
//
// Those inside of a gate are one exclusive caller, or shared ones in any number, or
// as many with the same client.Slots as these allow. A newcomer in another mode, or
// with another number of slots, waits until they have gone, and nobody overtakes it
// meanwhile: shared callers behind an exclusive one wait with it, and are let in
// together after it, or when it leaves. A lease that is downgraded lets in the
// shared callers who are next.
//
// A waiter leaves when its context ends. Its error is that of client.WaitEnded:
// held inside this process (a *client.HeldError with Local), or, where no lease
// holds the gate and the last who came back from Redis found it unavailable, that.
// TryAcquire does not wait: where it would have to it fails so at once, and nothing
// is sent.
//
// Two kinds of callers go before those who wait. Those with the same client.WithOwner
// as somebody inside, since behind a waiter their owner could wait for itself; where
// the lock is exclusive they are let in together, as the lock in Redis lets them in
// too. (One that wants to be exclusive where its owner is shared fails with
// client.ErrInvalid: it would wait for its own lease.) And newcomers with
// client.Barging, which may keep the others waiting for as long as more of them come.
//
// A request for several keys goes through the gate of each, in their order, and keeps
// those that it has while it waits for the next.
func Gate() client.Middleware {
	return func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			if len(req.Keys) == 0 {
				return through(ctx, req, req.Key, nil, next)
			}
			return through(ctx, req, req.Keys[0], req.Keys[1:], next)
		}
	}
}

// through takes req through the gate of key, and of those behind it.
func through(ctx context.Context, req client.Request, key string, behind []string, next client.Handler) (lease *client.Lease, err error) {
	p, err := gates.enter(ctx, req, key)
	if err != nil {
		return nil, err
	}
	kept := false
	defer func() {
		if !kept {
			gates.leave(p, req.Call(), err)
		}
	}()
	if len(behind) > 0 {
		lease, err = through(ctx, req, behind[0], behind[1:], next)
	} else {
		lease, err = next(ctx, req)
	}
	if lease == nil {
		return nil, err
	}
	kept = true
	gates.keep(p, req.Call())
	follow(lease, p)
	lease.Offer(func(t *client.Tenure) bool { return gates.bequeath(p, t) })
	return lease, err
}

// follow has the place kept for as long as the lease lives.
func follow(lease *client.Lease, p place) {
	ended := false
	lease.Observe(func(ev client.Event) {
		switch {
		case ended: // the answer to a downgrade may come late
		case ev.Kind == client.EventDowngraded:
			p = gates.downgrade(p)
		case ev.Kind == client.EventEnded:
			ended = true
			gates.free(p)
		}
	})
}
