package contender

import (
	"context"
	"sync"
	"time"
)

// renewing keeps a lease alive until its Release, as users do it of libraries that
// do not: by a goroutine and a ticker for each.
func renewing(l Lease, every time.Duration, extend func(context.Context) error) Lease {
	r := &renewed{Lease: l, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = extend(context.Background()) // Release tells whether the lock was lost
			case <-r.stop:
				return
			}
		}
	}()
	return r
}

type renewed struct {
	Lease
	once       sync.Once
	stop, done chan struct{}
}

// StopRenewal has the lease end with its TTL.
func (r *renewed) StopRenewal() { r.once.Do(func() { close(r.stop) }) }

func (r *renewed) Release(ctx context.Context) error {
	r.StopRenewal()
	<-r.done
	return r.Lease.Release(ctx)
}
