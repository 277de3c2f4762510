package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
)

// patience is how long a measurement may take beyond its length.
const patience = 20 * time.Second

// withLocks opens c for one measurement.
func withLocks(e *Env, c contender.Contender, rtt time.Duration, fn func(contender.Locks) error) error {
	addr, err := e.at(rtt)
	if err != nil {
		return err
	}
	l, err := c.Open(contender.Options{Addr: addr, TTL: lockTTL})
	if err != nil {
		return err
	}
	return errors.Join(fn(l), l.Close())
}

// tally is what a number of goroutines did.
type tally struct {
	done   int64
	failed int64
	first  error // of those that failed
	took   time.Duration
}

func (t tally) rate() float64 { return float64(t.done) / t.took.Seconds() }

func (t tally) faults() []string {
	if t.failed == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d calls failed, the first with %q", t.failed, t.first)}
}

// pairs has n goroutines take and release locks, each its own, for a while.
func pairs(l contender.Locks, n int, length time.Duration) tally {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("lock:%d", i)
	}
	var over atomic.Bool
	all := make([]tally, n)
	var work sync.WaitGroup
	start := time.Now()
	for i := range n {
		work.Go(func() {
			var t tally
			for !over.Load() {
				if err := pair(ctx, l, keys[i]); err != nil {
					t.fail(err)
					continue
				}
				t.done++
			}
			all[i] = t
		})
	}
	time.AfterFunc(length, func() { over.Store(true) })
	hung := time.AfterFunc(length+patience, cancel)
	work.Wait()
	t := sum(all)
	t.took = time.Since(start)
	if !hung.Stop() {
		t.fail(fmt.Errorf("calls did not end within %v of the end", patience))
	}
	return t
}

func sum(parts []tally) (t tally) {
	for _, p := range parts {
		t.done += p.done
		t.failed += p.failed
		if t.first == nil {
			t.first = p.first
		}
	}
	return t
}

func (t *tally) fail(err error) {
	t.failed++
	if t.first == nil {
		t.first = err
	}
}

func pair(ctx context.Context, l contender.Locks, key string) error {
	lease, err := l.Acquire(ctx, key)
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}
