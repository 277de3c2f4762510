package middleware

import (
	"context"

	"github.com/holdfast-go/holdfast/client"
)

// When sends the calls for which cond holds through mw, and the others past it.
// cond sees the request as it comes to this layer; it is called once per call
// (once per attempt inside the layer that repeats them), from many goroutines.
// Where cond or mw is nil so is the result, which client.New refuses.
func When(cond func(client.Request) bool, mw client.Middleware) client.Middleware {
	if cond == nil || mw == nil {
		return nil
	}
	return func(next client.Handler) client.Handler {
		through := mw(next)
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			if cond(req) {
				return through(ctx, req)
			}
			return next(ctx, req)
		}
	}
}
