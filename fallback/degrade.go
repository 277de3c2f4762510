package fallback

import (
	"context"
	"errors"
	"fmt"
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
// its context ends.
//
// One line is logged at the first local grant of an outage and one when the
// breaker closes after it. Degrade fails with client.ErrInvalid.
func Degrade(b *Breaker, p Policies) (client.Middleware, error) {
	if b == nil {
		return nil, invalid("the breaker is nil")
	}
	classes, byDefault, err := p.locals()
	if err != nil {
		return nil, err
	}
	d := &degrader{breaker: b, classes: classes, byDefault: byDefault}
	b.OnTransition(d.transition)
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
	classes   map[string]*Local // nil for FailClosed
	byDefault *Local
	diary     diary
}

func (d *degrader) local(class string) *Local {
	if l, ok := d.classes[class]; ok {
		return l
	}
	return d.byDefault
}

func (d *degrader) acquire(ctx context.Context, req client.Request, local *Local, next client.Handler) (*client.Lease, error) {
	if req.MaxTTL == 0 || req.MaxTTL > local.MaxTTL {
		req.MaxTTL = local.MaxTTL
	}
	if req.TTL > req.MaxTTL || req.MinHold > req.MaxTTL {
		// The core checks that too, but an open breaker would keep it from doing so.
		return nil, failed(req, invalid("TTL %v and minimum hold %v must be at most the %v that class %q allows",
			req.TTL, req.MinHold, req.MaxTTL, req.Class))
	}
	for {
		lease, err := next(ctx, req)
		if err == nil || req.Mode != client.Exclusive || !outageIsWhy(ctx, err) {
			return lease, err
		}
		o := d.breaker.outage()
		switch {
		case o == nil && req.Wait && errors.As(err, new(*OpenError)):
			continue // it has closed since it refused
		case o == nil:
			return nil, err
		case o.silence(local.quarantine()) <= 0:
			return d.grant(o, req)
		case !req.Wait:
			return nil, failed(req, fmt.Errorf("%w; class %q is granted in this process once Redis has been silent for %v, %v more",
				inner(err), req.Class, local.MaxTTL, o.silence(local.MaxTTL).Round(time.Millisecond)))
		}
		switch d.wait(ctx, o, local) {
		case callerLeft:
			return nil, client.WaitEnded(ctx, req, err)
		case quarantineOver:
			return d.grant(o, req)
		}
	}
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

type waitEnd uint8

const (
	callerLeft waitEnd = iota
	outageOver
	quarantineOver
)

// wait is over with the quarantine, unless the caller or the outage is first.
func (d *degrader) wait(ctx context.Context, o *outage, local *Local) waitEnd {
	for {
		left := o.silence(local.quarantine())
		switch {
		case ctx.Err() != nil:
			return callerLeft
		case o.isOver():
			return outageOver
		case left <= 0:
			return quarantineOver
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C: // Redis may have answered meanwhile
		case <-o.over:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func (d *degrader) grant(o *outage, req client.Request) (*client.Lease, error) {
	lease, err := client.NewLocalLease(req)
	if err == nil {
		d.granted(o, req.Class)
	}
	return lease, err
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
