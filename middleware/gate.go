package middleware

import (
	"context"

	"github.com/holdfast-go/holdfast/client"
)

// Gate lines up the callers of this process: of those who want the same lock, one
// at a time goes on to Redis, and the others wait here, first come, first served,
// at no cost to Redis. The one who got the lock keeps the gate until its lease
// ends; one who did not frees it when it comes back, by a panic too. All gates of
// the process are one: callers meet where Request.Scope and Key are equal,
// whichever Client they use.
//
// A waiter leaves when its context ends. Its error is that of client.WaitEnded:
// held inside this process (a *client.HeldError with Local), or, where no lease
// holds the gate and the last who came back from Redis found it unavailable, that.
// TryAcquire does not wait: it fails so at once, and nothing is sent.
//
// Callers with the same client.WithOwner pass the gate together, before those who
// wait, since the lock in Redis lets them in too.
func Gate() client.Middleware {
	return func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			g, err := gates.enter(ctx, req)
			if err != nil {
				return nil, err
			}
			kept := false
			defer func() {
				if !kept {
					gates.leave(g, err)
				}
			}()
			lease, err := next(ctx, req)
			if lease == nil {
				return nil, err
			}
			kept = true
			gates.keep(g)
			lease.Observe(func(ev client.Event) {
				if ev.Kind == client.EventEnded {
					gates.free(g)
				}
			})
			return lease, err
		}
	}
}
