package contender

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidislockLocks is rueidislock on one server, so with a majority of 1. Two
// defaults are changed, in its favour: TryNextAfter, at whose 20 ms an uncontended
// acquire hangs after a stall, and NoLoopTracking, without which every lock that
// was extended once keeps extending itself in a loop.
var rueidislockLocks = Contender{
	Name: "rueidislock", Waits: true,
	Open: func(o Options) (Locks, error) {
		locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption:   rueidis.ClientOption{InitAddress: []string{o.Addr}, ForceSingleClient: true},
			KeyValidity:    o.TTL,
			ExtendInterval: o.TTL / 3,
			KeyMajority:    1,
			TryNextAfter:   2 * time.Second,
			NoLoopTracking: true,
		})
		if err != nil {
			return nil, err
		}
		return rueidislocks{locker}, nil
	},
}

type rueidislocks struct{ locker rueidislock.Locker }

func (r rueidislocks) Acquire(ctx context.Context, key string) (Lease, error) {
	life, release, err := r.locker.WithContext(ctx, key)
	if err != nil {
		return nil, failed(key, err)
	}
	return rueidislockLease{life, release}, nil
}

func (r rueidislocks) Close() error {
	r.locker.Close()
	return nil
}

type rueidislockLease struct {
	life    context.Context
	release context.CancelFunc
}

// Release learns of a loss from the lease's context alone: the library does not
// report how its release ended.
func (l rueidislockLease) Release(context.Context) error {
	lost := l.life.Err() != nil
	l.release()
	if lost {
		return errLost
	}
	return nil
}
