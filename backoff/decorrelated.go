package backoff

import (
	"math/rand/v2"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
)

// Decorrelated makes each pause random between first and three times the one
// before, limit at most ("decorrelated jitter" in Marc Brooker, Exponential
// Backoff and Jitter, AWS Architecture Blog, 2015,
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). It
// never ends by itself; see Limit. first is at least 1 ms and less than limit,
// limit at most 24 h.
//
// Where the article cuts the random pause to the cap, which piles the pauses up
// there, this cuts the range from which it is drawn.
func Decorrelated(first, limit time.Duration) Policy {
	if err := checkRange(first, limit); err != nil {
		return Policy{err: err}
	}
	if first == limit {
		return Policy{err: invalid("decorrelated jitter needs a cap above its first delay %v", first)}
	}
	return Policy{fresh: func() cenkalti.BackOff { return &decorrelated{first: first, limit: limit, last: first} }}
}

type decorrelated struct{ first, limit, last time.Duration }

func (d *decorrelated) NextBackOff() time.Duration {
	d.last = d.first + rand.N(min(d.limit, 3*d.last)-d.first+1)
	return d.last
}

func (d *decorrelated) Reset() { d.last = d.first }
