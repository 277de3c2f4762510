package backoff

import (
	"fmt"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"

	"github.com/holdfast-go/holdfast/client"
)

// The delays that a policy may have.
const (
	minDelay = time.Millisecond
	maxDelay = 24 * time.Hour
)

// Policy is a recipe for the delays of one call. It is a value without state, safe
// to share; the BackOffs that it makes are not. A Policy made from bad arguments
// is kept until somebody asks Err, as Retry does. The zero Policy is one of those.
type Policy struct {
	fresh func() cenkalti.BackOff
	err   error
}

// Err returns what is wrong with the policy, matching client.ErrInvalid, or nil.
func (p Policy) Err() error {
	if p.fresh == nil && p.err == nil {
		return invalid("the policy is empty")
	}
	return p.err
}

// BackOff makes a fresh BackOff, for one goroutine at a time. That of a policy
// with an Err allows no retry.
func (p Policy) BackOff() cenkalti.BackOff {
	if p.Err() == nil {
		if b := p.fresh(); b != nil {
			return b
		}
	}
	return &cenkalti.StopBackOff{}
}

// Custom makes a Policy from a function that returns a fresh BackOff each time.
// fresh is called from many goroutines. A BackOff with a MaxElapsedTime counts it
// from the first pause.
func Custom(fresh func() cenkalti.BackOff) Policy {
	if fresh == nil {
		return Policy{err: invalid("the function of a custom policy is nil")}
	}
	return Policy{fresh: fresh}
}

// Constant pauses for d each time, without jitter: callers that start together
// stay together. d is at least 1 ms and at most 24 h.
func Constant(d time.Duration) Policy {
	if err := checkRange(d, d); err != nil {
		return Policy{err: err}
	}
	return Policy{fresh: func() cenkalti.BackOff { return cenkalti.NewConstantBackOff(d) }}
}

// Limit allows at most n pauses of p, and so n retries; 0 allows none.
func Limit(p Policy, n int) Policy {
	if err := p.Err(); err != nil {
		return Policy{err: err}
	}
	if n < 0 {
		return Policy{err: invalid("a limit of retries must not be negative, is %d", n)}
	}
	return Policy{fresh: func() cenkalti.BackOff { return cenkalti.WithMaxRetries(p.BackOff(), uint64(n)) }}
}

func checkRange(first, limit time.Duration) error {
	switch {
	case first < minDelay:
		return invalid("a delay must be at least %v, is %v", minDelay, first)
	case limit > maxDelay:
		return invalid("a delay must be at most %v, is %v", maxDelay, limit)
	case first > limit:
		return invalid("the first delay %v must not be above the cap %v", first, limit)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: backoff: %w", client.ErrInvalid, fmt.Errorf(format, args...))
}
