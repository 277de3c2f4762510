package backoff

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// Retry returns the layer that repeats attempts, and numbers them in
// Request.Attempt. What it does depends on how an attempt ended:
//
//   - The lock is held (client.ErrNotAcquired): Acquire waits in the queue of the
//     lock in Redis until it is handed over, or its context ends; TryAcquire fails at
//     once. See WithContention for polling instead.
//   - Redis is unavailable (client.ErrUnavailable): a few retries in a row, for
//     TryAcquire too, as far as the budget of all calls allows. See
//     WithInfrastructure and WithBudget. A retry that the budget refuses is counted
//     by Call.RetrySuppressed.
//   - A breaker is open: the call fails at once. The error says so by a method
//     ShortCircuit() bool, found by errors.As.
//   - Anything else: the call fails at once.
//
// A pause ends with the context of the call. The error of a wait that ended so is
// that of client.WaitEnded, with the outcome of the last attempt.
//
// Retry fails with client.ErrInvalid for a bad option. The layer keeps its budget
// per Client.
func Retry(opts ...Option) (client.Middleware, error) {
	s, err := settle(opts)
	if err != nil {
		return nil, err
	}
	return func(next client.Handler) client.Handler {
		r := &retrier{settings: s, budget: newBudget(s.ratio, s.burst), next: next}
		return r.acquire
	}, nil
}

type retrier struct {
	settings
	budget *budget
	next   client.Handler
}

func (r *retrier) acquire(ctx context.Context, req client.Request) (*client.Lease, error) {
	r.budget.call()
	c := course{retrier: r}
	req.Enqueue = req.Wait && !r.polling
	for req.Attempt = 1; ; req.Attempt++ {
		lease, err := r.next(ctx, req)
		if err == nil {
			return lease, nil
		}
		delay, queued, err := c.after(ctx, req, err)
		if err != nil {
			return nil, err
		}
		if !pause(ctx, delay, queued) {
			return nil, client.WaitEnded(ctx, req, c.last)
		}
	}
}

// pause waits for d, or where the call queues until it is woken. It is false when ctx
// has ended.
func pause(ctx context.Context, d time.Duration, woken <-chan struct{}) bool {
	var timeout <-chan time.Time
	if woken == nil {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-timeout:
	case <-woken:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
