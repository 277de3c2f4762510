package backoff

import (
	"time"
)

// Option configures Retry.
type Option func(*settings) error

type settings struct {
	contention     Policy
	polling        bool // by that policy, instead of waiting in the queue
	infrastructure Policy
	ratio          float64
	burst          int
}

const maxBurst = 1_000_000

func defaults() settings {
	return settings{
		contention:     Exponential(10*time.Millisecond, 250*time.Millisecond),
		infrastructure: Limit(Exponential(50*time.Millisecond, 250*time.Millisecond), 2),
		ratio:          0.1,
		burst:          10,
	}
}

// WithContention has those who wait for a lock that is held poll for it, with the
// pauses of p, instead of queueing in Redis. They come behind all who queue, and in no
// order among themselves. A pause ends earlier where the holder's TTL does, and a
// pause below 1 ms counts as 1 ms. Where p stops, by a Limit, the wait ends with the
// holder's client.HeldError.
//
// Default: they queue. One that is refused by a layer of the user's, not by the lock
// in Redis, polls with Exponential(10ms, 250ms).
func WithContention(p Policy) Option {
	return func(s *settings) error {
		s.contention, s.polling = p, true
		return p.Err()
	}
}

// WithInfrastructure sets the pauses before retries while Redis is unavailable.
// Where p stops the call fails; p starts anew when Redis has answered meanwhile.
// Default Limit(Exponential(50ms, 250ms), 2): three attempts in a row.
func WithInfrastructure(p Policy) Option {
	return func(s *settings) error {
		s.infrastructure = p
		return p.Err()
	}
}

// WithBudget bounds the retries while Redis is unavailable over all calls of the
// layer: a bucket of at most burst tokens, full at first, into which each call puts
// ratio of a token, and from which each such retry takes one. Default 0.1 and 10:
// ten retries, then one in ten calls. ratio is 0 to 1, burst 1 to a million.
func WithBudget(ratio float64, burst int) Option {
	return func(s *settings) error {
		s.ratio, s.burst = ratio, burst
		if !(ratio >= 0 && ratio <= 1) {
			return invalid("the ratio of a retry budget must be 0 to 1, is %v", ratio)
		}
		if burst < 1 || burst > maxBurst {
			return invalid("the burst of a retry budget must be 1 to %d, is %d", maxBurst, burst)
		}
		return nil
	}
}

func settle(opts []Option) (settings, error) {
	s := defaults()
	for i, o := range opts {
		if o == nil {
			return settings{}, invalid("option %d is nil", i)
		}
		if err := o(&s); err != nil {
			return settings{}, err
		}
	}
	return s, nil
}
