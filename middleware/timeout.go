package middleware

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// Timeout bounds how long a call waits for its lock: by client.WithWaitTimeout
// where the caller gave one, else by d; 0 is no bound. It never ends a lease, and a
// lease that comes in the same instant is returned.
//
// The error of a call that it ends tells what was known last, as one of the
// client's sentinels, and matches context.DeadlineExceeded; errors.As with
// *client.TimeoutError tells this bound from the deadline of the caller's context.
func Timeout(d time.Duration) client.Middleware {
	return func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			limit := req.WaitTimeout
			if limit == 0 {
				limit = d
			}
			if limit <= 0 {
				return next(ctx, req)
			}
			ctx, cancel := context.WithTimeoutCause(ctx, limit,
				&client.TimeoutError{Limit: "wait timeout", After: limit, Wait: true})
			defer cancel()
			return next(ctx, req)
		}
	}
}
