package main

import (
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fallback"
)

// The two classes of locks, and what becomes of each while Redis is down.
const (
	// classStock guards what must be right: without Redis nobody gets the lock.
	classStock = "stock"
	// classBestsellers only saves work. Two processes that work out the same list
	// waste time and break nothing, so without Redis each may go on by itself.
	classBestsellers = "bestsellers"
)

// maxTTL bounds the leases of classBestsellers. No process goes on by itself before
// Redis was silent for so long: by then a lease from before the outage has ended.
const maxTTL = 600 * time.Millisecond

var policies = fallback.Policies{Classes: map[string]fallback.Policy{
	classStock:       fallback.FailClosed{}, // the default, named for the reader
	classBestsellers: fallback.Local{MaxTTL: maxTTL},
}}

// openLocks makes the Client of one process. Beside the policies it has but the
// patience of a demonstration: an outage of two seconds is noticed in a fraction of
// one. A service leaves the breaker and the time-outs at their defaults.
func openLocks(rdb *redis.Client, name, prefix string, s *signals) (*holdfast.Client, error) {
	return holdfast.New(rdb,
		holdfast.WithPrefix(prefix),
		holdfast.WithIdentity(name),
		holdfast.WithTTL(2*time.Second),
		holdfast.WithFallback(policies),
		holdfast.WithMeterProvider(s.meters),
		holdfast.WithTracerProvider(s.tracers),
		holdfast.WithLogger(slog.New(slog.DiscardHandler)),
		holdfast.WithAttemptTimeout(500*time.Millisecond),
		holdfast.WithCommandTimeout(500*time.Millisecond),
		holdfast.WithBreaker(fallback.BreakerConfig{
			Window:        time.Second,
			OpenTimeout:   200 * time.Millisecond,
			ProbeInterval: 100 * time.Millisecond,
		}),
	)
}
