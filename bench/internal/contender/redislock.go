package contender

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// redislockLocks is bsm/redislock. It does not wait by default; here it polls with
// the least pause that its documentation recommends for the exponential strategy,
// and with a limit like that of redsync.
var redislockLocks = Contender{
	Name: "redislock", Waits: true,
	Open: func(o Options) (Locks, error) {
		rdb := connect(o.Addr)
		return &redislocks{Options: o, rdb: rdb, locks: redislock.New(rdb)}, nil
	},
}

const (
	leastPause = 16 * time.Millisecond
	mostPause  = 250 * time.Millisecond
)

type redislocks struct {
	Options
	rdb   *redis.Client
	locks *redislock.Client
}

func (r *redislocks) Acquire(ctx context.Context, key string) (Lease, error) {
	for {
		lock, err := r.locks.Obtain(ctx, key, r.TTL, &redislock.Options{
			RetryStrategy: redislock.ExponentialBackoff(leastPause, mostPause),
		})
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			continue // it gives up after the TTL by itself
		case err != nil:
			return nil, failed(key, err)
		case r.Renew:
			return renewing(lock, r.TTL/3, func(ctx context.Context) error { return lock.Refresh(ctx, r.TTL, nil) }), nil
		}
		return lock, nil
	}
}

func (r *redislocks) Close() error { return r.rdb.Close() }
