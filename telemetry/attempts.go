package telemetry

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/client"
)

// The results of an attempt.
const (
	resultGranted        = "granted"
	resultHeld           = "held"
	resultError          = "error"
	resultShortCircuited = "short_circuited"
)

// Attempts is the layer that counts each try by its result. It belongs inside the
// retry layer and the breaker. A try that was granted after a wait in the queue in Redis
// says what ended the wait. Tries that the breaker refuses do not reach it and
// are counted by Middleware.
func (t *Telemetry) Attempts() client.Middleware {
	return func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			if ctx.Err() != nil || !t.hub.attempts.Enabled(ctx) {
				return next(ctx, req) // nothing is tried any more, or nobody counts
			}
			lease, err := next(ctx, req)
			class := t.hub.class(req.Class)
			l := labels{labelClass: class.name, labelResult: resultOf(err)}
			if call := req.Call(); err == nil && call != nil {
				l[labelWake] = string(call.WakeSource())
			}
			if err == nil && l[labelWake] == "" {
				t.hub.attempts.Add(ctx, 1, t.hub.series.often(&class.granted, l).add...)
			} else {
				t.hub.add(ctx, t.hub.attempts, 1, l)
			}
			return lease, err
		}
	}
}

// resultOf names the outcome of one attempt. Where its context ended meanwhile the
// error may tell of the attempt before it: what became of this one is unknown.
func resultOf(err error) string {
	switch {
	case err == nil:
		return resultGranted
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return resultError
	case errors.Is(err, client.ErrNotAcquired):
		return resultHeld
	default:
		return resultError
	}
}
