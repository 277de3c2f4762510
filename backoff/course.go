package backoff

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"

	"github.com/holdfast-go/holdfast/client"
)

// course is how one call has gone so far. Its BackOffs are made when they are
// needed first.
type course struct {
	*retrier
	polls   cenkalti.BackOff
	retries cenkalti.BackOff // nil again when Redis has answered
	last    error            // of the last attempt that told something
}

// stop is what NextBackOff returns, or any negative delay, when a policy is spent.
const stop = cenkalti.Stop

// after says how long to pause after an attempt that ended with err, or on what to
// wait instead, or with which error the call ends.
func (c *course) after(ctx context.Context, req client.Request, err error) (time.Duration, <-chan struct{}, error) {
	k := kindOf(err)
	switch {
	case k == foreign && says(ctx, err):
		return 0, nil, client.WaitEnded(ctx, req, c.last)
	case k == foreign, k == final, k == held && !req.Wait:
		return 0, nil, err
	case says(ctx, err):
		return 0, nil, err
	case ctx.Err() != nil:
		return 0, nil, client.WaitEnded(ctx, req, err)
	}
	c.last = err
	var delay time.Duration
	if k == held {
		c.retries = nil
		if call := req.Call(); req.Enqueue && call != nil {
			if woken := call.Woken(); woken != nil {
				return 0, woken, nil
			}
		}
		delay = c.poll(err)
	} else {
		delay = c.retry(req)
	}
	if delay < 0 {
		return 0, nil, err
	}
	return max(delay, minDelay), nil, nil
}

// poll is the pause before the next look at a lock that is held.
func (c *course) poll(err error) time.Duration {
	if c.polls == nil {
		c.polls = c.contention.BackOff()
	}
	delay := c.polls.NextBackOff()
	if holder, ok := errors.AsType[*client.HeldError](err); ok && holder.TTL > 0 {
		// The jitter keeps those who wait for the same expiry apart.
		delay = min(delay, holder.TTL+minDelay+rand.N(10*minDelay))
	}
	return delay
}

// retry is the pause before the next try of a Redis that is unavailable.
func (c *course) retry(req client.Request) time.Duration {
	if c.retries == nil {
		c.retries = c.infrastructure.BackOff()
	}
	delay := c.retries.NextBackOff()
	if delay >= 0 && !c.budget.retry() {
		if call := req.Call(); call != nil {
			call.RetrySuppressed()
		}
		return stop
	}
	return delay
}
