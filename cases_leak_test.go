package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
)

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// settled waits until there are no more goroutines than before.
func (s *site) settled(before int) {
	s.Helper()
	start := time.Now()
	for runtime.NumGoroutine() > before {
		if time.Since(start) > patience {
			buf := make([]byte, 1<<20)
			s.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// C140: what is kept for a key goes with its last use.
func TestC140NothingIsKeptPerKey(t *testing.T) {
	s := newSoleSite(t)
	c := s.process()
	holder := s.acquire(s.process(), "held")
	use := func(from, to int) {
		for i := from; i < to; i++ {
			key := fmt.Sprint("k", i)
			l := s.acquire(c, key)
			s.refused(c, key)
			_, err := c.Acquire(s.ctx, key, holdfast.WithWaitTimeout(time.Microsecond))
			s.only(err, holdfast.ErrNotAcquired)
			s.release(l)
			ctx, cancel := context.WithCancel(s.ctx)
			cancel()
			_, _ = c.Acquire(ctx, key)
		}
	}
	n := rounds(1500, 200_000)
	use(0, 500)
	goroutines, before := runtime.NumGoroutine(), heap()
	use(500, 500+n)
	s.settled(goroutines)
	if grown := heap() - before; grown > 512<<10 { // a kept entry would take 100 bytes and more, of each of four uses
		t.Errorf("%d bytes more after %d keys", grown, n)
	}
	s.release(holder)
}

// C142: waiters do not keep the connections from renewals and from other users of
// the redis client.
func TestC142WaitersPinNoConnections(t *testing.T) {
	s := newSite(t)
	rdb := s.srv.Client(t, func(o *redis.Options) { o.PoolSize, o.PoolTimeout = 5, 4*time.Second })
	holders := s.client(rdb, holdfast.WithTTL(3*time.Second))
	var leases []*holdfast.Lease
	for i := range 3 {
		leases = append(leases, s.acquire(holders, fmt.Sprint("k", i)))
	}
	ctx, cancel := context.WithCancel(s.ctx)
	var work sync.WaitGroup
	for range 10 {
		c := s.client(rdb)
		for i := range 15 {
			work.Go(func() {
				_, err := c.Acquire(ctx, fmt.Sprint("k", i%3))
				if !errors.Is(err, context.Canceled) {
					t.Errorf("a waiter: %v", err)
				}
			})
		}
	}
	for start := time.Now(); time.Since(start) < 5*time.Second; time.Sleep(10 * time.Millisecond) {
		if err := rdb.Get(s.ctx, "data").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("another user of the redis client: %v", err)
		}
	}
	for _, l := range leases {
		if l.Context().Err() != nil {
			t.Errorf("a holder lost its lock: %v", context.Cause(l.Context()))
		}
	}
	cancel()
	work.Wait()
	if n := rdb.PoolStats().Timeouts; n != 0 {
		t.Errorf("%d waits for a connection timed out", n)
	}
	for _, l := range leases {
		s.release(l)
	}
}

// C145: a lease that was lost leaves nothing that renews it.
func TestC145LostLeasesLeaveNoGoroutine(t *testing.T) {
	s := newSoleSite(t)
	c := s.process()
	s.release(s.acquire(c, "warm"))
	before := runtime.NumGoroutine()
	for range rounds(200, 1000) {
		l := s.acquire(c, "k")
		s.del("k")
		s.only(l.Release(s.ctx), holdfast.ErrNotHeld)
	}
	s.settled(before)
}

// C150: however many other keys are used, those that are held are kept and renewed.
func TestC150HeldLocksAreNotForgotten(t *testing.T) {
	s := newSite(t)
	c := s.process(holdfast.WithTTL(3 * time.Second))
	var leases []*holdfast.Lease
	for i := range 50 {
		leases = append(leases, s.acquire(c, fmt.Sprint("held", i)))
	}
	start := time.Now()
	for i := 0; i < rounds(2000, 100_000) || time.Since(start) < 5*time.Second; i++ {
		s.release(s.acquire(c, fmt.Sprint("k", i)))
	}
	for _, l := range leases {
		s.release(l)
	}
}

// C151: callers who come again and again while the server hangs do not pile up.
func TestC151PeriodicCallersDoNotPileUp(t *testing.T) {
	s := newSoleSite(t)
	c := s.process(holdfast.WithAttemptTimeout(holdfast.DefaultAttemptTimeout), holdfast.WithCommandTimeout(time.Second))
	s.release(s.acquire(c, "k"))
	before := runtime.NumGoroutine()
	var inside, most atomic.Int32
	var work sync.WaitGroup
	s.srv.Freeze()
	calls := rounds(150, 500)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range calls {
		<-tick.C
		work.Go(func() {
			most.Store(max(most.Load(), inside.Add(1)))
			defer inside.Add(-1)
			// By default, and without a deadline, it ends by the bounds of the pipeline.
			if l, err := c.Acquire(context.Background(), "k"); err == nil {
				_ = l.Release(context.Background())
			}
		})
	}
	s.within(soon, "the last calls while the server hangs", work.Wait)
	if n := int(most.Load()); n > calls*9/10 {
		t.Errorf("%d of %d calls were under way at a time", n, calls)
	}
	s.srv.Thaw()
	s.settled(before + 8) // the pool keeps connections, which the first call had not opened
}

// countingHandler counts log lines.
type countingHandler struct {
	slog.Handler
	lines *atomic.Int32
}

func (h countingHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h countingHandler) Handle(context.Context, slog.Record) error {
	h.lines.Add(1)
	return nil
}

// C152: the Client is closed, or the redis client under it: leases end, releases
// say so, and nothing goes on or floods the log.
func TestC152Closing(t *testing.T) {
	hold := func(s *site, c *holdfast.Client) (leases []*holdfast.Lease) {
		for i := range 20 {
			leases = append(leases, s.acquire(c, fmt.Sprint("k", i)))
		}
		return leases
	}
	t.Run("the Client", func(t *testing.T) {
		s := newSite(t)
		c := s.proxied(holdfast.WithTTL(2 * time.Second))
		leases := hold(s, c)
		ctx, cancel := context.WithTimeout(s.ctx, 100*time.Millisecond)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		s.proxy.ResetStats()
		for _, l := range leases {
			if cause := context.Cause(l.Context()); !errors.Is(cause, holdfast.ErrClosed) {
				t.Errorf("cause %v", cause)
			}
		}
		s.await("the keys are gone", func() bool { return len(s.records()) == 0 })
		if n := extends(s.proxy.Commands()); n != 0 {
			t.Errorf("%d renewals after Close", n)
		}
	})
	t.Run("the redis client", func(t *testing.T) {
		s := newSite(t)
		rdb := s.srv.Client(t)
		var lines atomic.Int32
		c := s.client(rdb, holdfast.WithTTL(2*time.Second), holdfast.WithLogger(slog.New(countingHandler{lines: &lines})))
		leases := hold(s, c)
		_ = rdb.Close()
		s.within(soon, "Release", func() {
			ctx, cancel := context.WithTimeout(s.ctx, 100*time.Millisecond)
			defer cancel()
			s.only(leases[0].Release(ctx), holdfast.ErrUnavailable)
		})
		for _, l := range leases[1:] {
			s.lost(l, patience)
			s.only(l.Release(s.ctx), holdfast.ErrNotHeld)
		}
		// One for each transition of a lease, and of the whole.
		if n := lines.Load(); n > 3*20+10 {
			t.Errorf("%d lines in the log", n)
		}
	})
}
