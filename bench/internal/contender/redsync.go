package contender

import (
	"context"
	"math"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redsyncLocks is redsync on one server. Its defaults stand, among them a pause of
// 50 to 250 ms between tries, save that it tries until the wait is over.
var redsyncLocks = Contender{
	Name: "redsync", Waits: true, Sends: []string{"set"},
	Open: func(o Options) (Locks, error) {
		rdb := connect(o.Addr)
		return &redsyncs{Options: o, rdb: rdb, locks: redsync.New(goredis.NewPool(rdb))}, nil
	},
}

type redsyncs struct {
	Options
	rdb   *redis.Client
	locks *redsync.Redsync
}

func (r *redsyncs) Acquire(ctx context.Context, key string) (Lease, error) {
	l := redsyncLease{r.locks.NewMutex(key, redsync.WithExpiry(r.TTL), redsync.WithTries(math.MaxInt))}
	if err := l.LockContext(ctx); err != nil {
		return nil, failed(key, err)
	}
	if r.Renew {
		return renewing(l, r.TTL/3, l.extend), nil
	}
	return l, nil
}

func (r *redsyncs) Close() error { return r.rdb.Close() }

type redsyncLease struct{ *redsync.Mutex }

func (l redsyncLease) Release(ctx context.Context) error {
	return confirmed(l.UnlockContext(ctx))
}

func (l redsyncLease) extend(ctx context.Context) error {
	return confirmed(l.ExtendContext(ctx))
}

func confirmed(ok bool, err error) error {
	if err == nil && !ok {
		err = errLost
	}
	return err
}
