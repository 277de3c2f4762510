package middleware

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// AttemptTimeout bounds one attempt by d; 0 is no bound. It belongs inside the
// layer that repeats attempts: an attempt that it ends has failed with
// client.ErrUnavailable and a *client.TimeoutError, and matches no error of a
// context, since the caller's goes on. What it left behind in Redis, if the
// command was granted all the same, is found by the next attempt of the call, or
// taken out after the last.
func AttemptTimeout(d time.Duration) client.Middleware {
	return func(next client.Handler) client.Handler {
		if d <= 0 {
			return next
		}
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			limit := &client.TimeoutError{Limit: "attempt timeout", After: d}
			ctx, cancel := context.WithTimeoutCause(ctx, d, limit)
			defer cancel()
			lease, err := next(ctx, req)
			if errors.Is(err, context.DeadlineExceeded) && context.Cause(ctx) == limit {
				err = &client.Error{Op: "acquire", Key: req.Key, Err: fmt.Errorf("%w: %w", client.ErrUnavailable, limit)}
			}
			return lease, err
		}
	}
}
