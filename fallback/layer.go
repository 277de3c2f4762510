package fallback

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/client"
)

// Middleware returns the layer that asks b before each attempt. One that is refused
// fails at once with an *OpenError; see client.Call.ShortCircuited.
func (b *Breaker) Middleware() client.Middleware {
	return func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			done, err := b.admit()
			if err != nil {
				req.Call().ShortCircuited()
				return nil, &client.Error{Op: "acquire", Key: req.Key, Err: b.last.Load().refusal}
			}
			req, finish := req.WithSettlement(func(v client.Verdict) { b.settle(done, v) })
			defer finish()
			lease, err := next(ctx, req)
			if isReply(err) {
				b.answered()
			}
			return lease, err
		}
	}
}

// errHeldBack: the breaker may be ready for a trial, and this is not the time.
var errHeldBack = errors.New("held back")

// admit is allow for attempts. While degraded leases live, and when Redis has just come
// and gone, it is the prober that finds out whether Redis is back.
func (b *Breaker) admit() (done func(error), err error) {
	if b.State() != Closed && b.attached.Load() {
		if o := b.outage(); o != nil && (!o.steady.Load() || b.ledger.holds(o)) {
			return nil, errHeldBack
		}
	}
	return b.allow()
}

// allow admits one command, whose end has to be settled. Where it fails there is
// or was an outage.
func (b *Breaker) allow() (done func(error), err error) {
	done, err = b.cb.Allow()
	b.deliver()
	return done, err
}
