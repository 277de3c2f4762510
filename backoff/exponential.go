package backoff

import (
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
)

// Exponential doubles the pause: the n-th is random between a half and the whole
// of first times 2^(n-1), or of limit where that is less. It never ends by itself;
// see Limit. first is at least 1 ms and at most limit, limit at most 24 h.
//
// The jitter comes after the cap ("equal jitter" in Marc Brooker, Exponential
// Backoff and Jitter, AWS Architecture Blog, 2015), so that pauses at the cap
// differ as well.
func Exponential(first, limit time.Duration) Policy {
	if err := checkRange(first, limit); err != nil {
		return Policy{err: err}
	}
	return Policy{fresh: func() cenkalti.BackOff {
		// cenkalti caps the middle of the range and then adds to it: a third above
		// and below three quarters is what stays within [1/2, 1].
		return cenkalti.NewExponentialBackOff(
			cenkalti.WithInitialInterval(first*3/4),
			cenkalti.WithMaxInterval(limit*3/4),
			cenkalti.WithRandomizationFactor(1.0/3),
			cenkalti.WithMultiplier(2),
			cenkalti.WithMaxElapsedTime(0),
		)
	}}
}
