package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fallback"
)

const (
	workers = 16
	keys    = 8
	nightly = "nightly" // the lock that is wanted for long
	ttl     = 900 * time.Millisecond
)

// crew is those who want locks.
type crew struct {
	timeline *timeline
	locks    *holdfast.Client
	rdb      *redis.Client
	inside   [keys]atomic.Int32
	work     sync.WaitGroup
	stop     context.CancelFunc
	closers  []func()
}

// newLocks makes a Client whose locks may be degraded.
func newLocks(addr, process string, log *slog.Logger) (*redis.Client, *holdfast.Client, error) {
	rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, DialTimeout: 200 * time.Millisecond})
	locks, err := holdfast.New(rdb,
		holdfast.WithTTL(ttl),
		holdfast.WithIdentity(process),
		holdfast.WithGate(process),
		holdfast.WithLogger(log),
		holdfast.WithFallback(fallback.Policies{Default: fallback.Local{MaxTTL: time.Second}}),
		holdfast.WithBreaker(fallback.BreakerConfig{Window: time.Second, OpenTimeout: 300 * time.Millisecond, ProbeInterval: 200 * time.Millisecond}))
	return rdb, locks, err
}

func hire(ctx context.Context, addr string, t *timeline) (*crew, error) {
	rdb, locks, err := newLocks(addr, "this process", slog.New(t))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	c := &crew{timeline: t, locks: locks, rdb: rdb, stop: stop}
	for range workers {
		c.work.Go(func() { c.toil(ctx) })
	}
	c.work.Go(func() { c.watchOver(ctx) })
	return c, c.addNeighbour(ctx, addr)
}

// toil takes locks one after the other, each for a few milliseconds.
func (c *crew) toil(ctx context.Context) {
	for ctx.Err() == nil {
		i := rand.N(keys)
		lease, err := c.locks.Acquire(ctx, fmt.Sprint("stock:", i), holdfast.WithWaitTimeout(time.Second))
		if err != nil {
			c.timeline.failed(err)
			_ = pause(ctx, 50*time.Millisecond)
			continue
		}
		c.timeline.granted(lease.Degraded())
		if c.inside[i].Add(1) > 1 {
			c.timeline.overlap()
		}
		_ = pause(ctx, 5*time.Millisecond+rand.N(20*time.Millisecond))
		c.inside[i].Add(-1)
		_ = lease.Release(ctx)
	}
}

// watchOver holds one lock for as long as it can. In degraded mode nothing renews it,
// so the holder does.
func (c *crew) watchOver(ctx context.Context) {
	for ctx.Err() == nil {
		lease, err := c.locks.Acquire(ctx, nightly)
		if err != nil {
			_ = pause(ctx, 50*time.Millisecond)
			continue
		}
		lease.Observe(c.timeline.follow)
		for lease.Context().Err() == nil {
			_ = pause(lease.Context(), ttl/3)
			if lease.Degraded() {
				_ = lease.Extend(ctx, ttl)
			}
		}
		_ = lease.Release(context.WithoutCancel(ctx))
	}
}

// addNeighbour adds another process, as it were, which is not degraded but asks Redis
// for the nightly lock all the time, and lets go of it soon.
func (c *crew) addNeighbour(ctx context.Context, addr string) error {
	rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, DialTimeout: 200 * time.Millisecond})
	locks, err := holdfast.New(rdb, holdfast.WithTTL(ttl), holdfast.WithIdentity("the neighbour"), holdfast.WithGate("neighbour"),
		holdfast.WithLogger(slog.New(slog.DiscardHandler)), holdfast.Replace(holdfast.LayerBreaker, nil))
	if err != nil {
		return err
	}
	c.work.Go(func() {
		for ctx.Err() == nil {
			if lease, err := locks.TryAcquire(ctx, nightly); err == nil {
				_ = pause(ctx, ttl/2)
				_ = lease.Release(context.WithoutCancel(ctx))
			}
			_ = pause(ctx, 150*time.Millisecond+rand.N(100*time.Millisecond))
		}
	})
	c.closers = append(c.closers, func() { shut(locks, rdb) })
	return nil
}

func (c *crew) dismiss() {
	c.stop()
	c.work.Wait()
	for _, fn := range c.closers {
		fn()
	}
	shut(c.locks, c.rdb)
}

func shut(locks *holdfast.Client, rdb *redis.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := locks.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		fmt.Println(err)
	}
	_ = rdb.Close()
}
