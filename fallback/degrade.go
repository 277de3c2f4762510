package fallback

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/redis/go-redis/v9"
)

// Degrade returns the layer that carries out p while b is not closed. It belongs
// inside the gate, which is what excludes the others in degraded mode, and outside
// the retries.
//
// It steps in only where Redis could not be asked (client.ErrUnavailable), the
// breaker is not closed, the lock is exclusive, and the class is Local. A lock that
// is held, a refusal of Redis, the end of the caller's context, a pool without a
// free connection and a closed redis client stay what they are; so do the first
// failures of an outage, until the breaker has opened.
//
// During the quarantine (see Local.MaxTTL) TryAcquire fails. Acquire waits, as it
// waits for a holder, which there may be: until the quarantine is over and it gets
// a degraded lease, until the breaker closes and it goes to Redis again, or until
// its context ends. Where a bound of the Local is met both fail with a *BoundError.
//
// When Redis is back no more leases are granted locally, those there are are promoted,
// and only then does the breaker close; calls wait for that, and go on to Redis.
//
// One line is logged at the first local grant of an outage, one when the breaker
// closes after it, and one for each conflict. Degrade fails with client.ErrInvalid.
func Degrade(b *Breaker, p Policies) (client.Middleware, error) {
	if b == nil {
		return nil, invalid("the breaker is nil")
	}
	classes, byDefault, err := p.locals()
	if err != nil {
		return nil, err
	}
	d := &degrader{breaker: b, classes: classes, byDefault: byDefault}
	if p.Drill != nil {
		p.Drill.join(d)
	}
	for _, l := range classes {
		b.mayDegrade = b.mayDegrade || l != nil
	}
	b.mayDegrade = b.mayDegrade || byDefault != nil
	return func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			local := d.local(req.Class)
			if local == nil {
				return next(ctx, req)
			}
			return d.acquire(ctx, req, local, next)
		}
	}, nil
}

type degrader struct {
	breaker   *Breaker
	classes   map[string]*local // nil for FailClosed
	byDefault *local

	drilling atomic.Int32 // len(drills)
	mu       sync.Mutex
	drills   map[string]*exercise // by class
}

func (d *degrader) local(class string) *local {
	if l, ok := d.classes[class]; ok {
		return l
	}
	return d.byDefault
}

func (d *degrader) acquire(ctx context.Context, req client.Request, local *local, next client.Handler) (lease *client.Lease, err error) {
	if req.MaxTTL == 0 || req.MaxTTL > local.MaxTTL {
		req.MaxTTL = local.MaxTTL
	}
	if req.TTL > req.MaxTTL || req.MinHold > req.MaxTTL {
		// The core checks that too, but an open breaker would keep it from doing so.
		return nil, failed(req, invalid("TTL %v and minimum hold %v must be at most the %v that class %q allows",
			req.TTL, req.MinHold, req.MaxTTL, req.Class))
	}
	if local.files == nil {
		return d.pass(ctx, req, local, next)
	}
	if req.Owner != "" {
		return nil, failed(req, invalid("class %q is HostWide, and an owner could not enter from another process: WithOwner is not for it", req.Class))
	}
	files, err := local.files.take(ctx, req)
	if err != nil {
		return nil, err
	}
	defer func() {
		if lease == nil {
			files.free()
		}
	}()
	if lease, err = d.pass(ctx, req, local, next); lease != nil {
		files.follow(lease)
	}
	return lease, err
}

// pass goes on to Redis, and where that is gone, or a drill says so, grants locally.
func (d *degrader) pass(ctx context.Context, req client.Request, local *local, next client.Handler) (*client.Lease, error) {
	for {
		o, err := d.drillOf(req.Class), error(nil)
		if o != nil && req.Mode == client.Exclusive {
			err = o.refusal
		} else {
			lease, failure := next(ctx, req)
			if failure == nil || req.Mode != client.Exclusive || !outageIsWhy(ctx, failure) {
				return lease, failure
			}
			o, err = d.breaker.outage(), failure
		}
		switch {
		case o == nil && req.Wait && errors.As(err, new(*OpenError)):
			continue // it has closed since it refused
		case o == nil:
			return nil, err
		}
		if lease, err := d.during(ctx, o, req, local, err); lease != nil || err != nil {
			return lease, err
		}
	}
}

// during is what becomes of a call that failed in o: a lease or an error, or neither,
// when it is worth to ask Redis again.
func (d *degrader) during(ctx context.Context, o *outage, req client.Request, local *local, why error) (*client.Lease, error) {
	exceeded := func(leases int) error { return local.exceeded(o, req.Class, leases, inner(why)) }
	for {
		left, until := o.silence(local.quarantine()), (<-chan struct{})(o.over)
		switch {
		case ctx.Err() != nil:
			return nil, client.WaitEnded(ctx, req, why)
		case o.isOver():
			return nil, nil
		case left <= 0:
			lease, first, closing, err := d.breaker.ledger.grant(o, req, exceeded)
			if first {
				d.begins(o, req.Class)
			}
			if lease != nil || err != nil {
				return lease, d.decided(o, req, err)
			}
			left, until = time.Hour, closing
		default:
			if err := exceeded(0); err != nil {
				return nil, d.decided(o, req, err)
			}
			if !req.Wait {
				return nil, d.decided(o, req, fmt.Errorf("%w; class %q is granted in this process once Redis has been silent for %v, %v more",
					inner(why), req.Class, local.MaxTTL, left.Round(time.Millisecond)))
			}
			if local.MaxDuration > 0 {
				left = min(left, local.MaxDuration-o.degradedFor())
			}
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C: // Redis may have answered meanwhile
		case <-until:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// decided notes in the call's record what degraded mode has decided, by err, and
// returns that as the call's error.
func (d *degrader) decided(o *outage, req client.Request, err error) error {
	reason := "outage"
	if o.drill {
		reason = "drill"
	}
	var bound *BoundError
	switch {
	case errors.As(err, &bound):
		reason = string(bound.Bound)
	case errors.Is(err, client.ErrUnavailable):
		reason = "quarantine"
	}
	req.Call().SetDegraded(reason)
	var whole *client.Error
	if err == nil || errors.As(err, &whole) && whole.Key == req.Key {
		return err
	}
	return failed(req, err)
}

// outageIsWhy tells whether err is Redis's fault and nobody else's.
func outageIsWhy(ctx context.Context, err error) bool {
	if ctx.Err() != nil || !errors.Is(err, client.ErrUnavailable) {
		return false
	}
	for _, other := range []error{context.Canceled, context.DeadlineExceeded,
		redis.ErrPoolTimeout, redis.ErrPoolExhausted, redis.ErrClosed} {
		if errors.Is(err, other) {
			return false
		}
	}
	return true
}

func failed(req client.Request, err error) error {
	return &client.Error{Op: "acquire", Key: req.Key, Err: err}
}

// inner is err without the operation and key that failed adds again.
func inner(err error) error {
	var e *client.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
