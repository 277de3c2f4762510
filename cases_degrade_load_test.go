package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fallback"
)

// A crowd goes on while Redis is killed and started again, now and then with its
// data: nobody of this process is ever inside of a lock with another, each degraded
// lease says so, and at the end nothing is left.
func TestCrowdOverOutages(t *testing.T) {
	s := newSite(t, "--appendonly", "yes", "--appendfsync", "always")
	a := s.app(local)
	crowd, names, outages, turn := 100, 20, 3, 900*time.Millisecond
	if soak() {
		crowd, outages, turn = 200, 10, 3*time.Second
	}
	inside := make([]atomic.Int32, names)
	var granted, degraded, promoted atomic.Int32
	ctx, cancel := context.WithCancel(s.ctx)
	var wg sync.WaitGroup
	for range crowd {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := rand.N(names)
				l, err := a.Acquire(ctx, fmt.Sprint(i), holdfast.WithWaitTimeout(2*time.Second))
				if err != nil {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				was := l.Degraded()
				if inside[i].Add(1) > 1 {
					t.Error("two inside of one lock")
				}
				time.Sleep(time.Duration(rand.N(20)) * time.Millisecond)
				inside[i].Add(-1)
				switch {
				case !was:
					granted.Add(1)
				case l.Degraded():
					degraded.Add(1)
				default:
					promoted.Add(1)
				}
				_ = l.Release(ctx)
			}
		})
	}
	for i := range outages {
		time.Sleep(turn)
		s.srv.Kill()
		time.Sleep(2 * turn)
		if i%2 == 0 { // empty
			s.srv.Restart()
			s.rdb.FlushAll(s.ctx)
		} else {
			s.srv.Restart()
		}
		over := i + 1
		s.await("the end of degraded mode", func() bool { return a.log.count("degraded mode is over") >= over })
	}
	time.Sleep(turn)
	cancel()
	wg.Wait()
	if granted.Load() == 0 || degraded.Load() == 0 {
		t.Errorf("%d granted by Redis, %d degraded, %d promoted", granted.Load(), degraded.Load(), promoted.Load())
	}
	told := a.metric(t, "holdfast.acquire.duration", "mode=degraded") // its only outcome is acquired
	if seen := int(degraded.Load() + promoted.Load()); told < seen || told > seen+int(granted.Load()) {
		t.Errorf("%d degraded leases were seen, %d counted", seen, told)
	}
	s.await("nothing is held", func() bool {
		return a.metric(t, "holdfast.lease.count", "mode=degraded")+a.metric(t, "holdfast.lease.count", "mode=distributed") == 0
	})
	s.await("no key is left", func() bool { return len(s.records()) == 0 })
	for i := range names {
		s.release(s.acquire(a.Client, fmt.Sprint(i)))
	}
}

// Two processes with the quarantine, for both of which Redis is killed while one holds
// the lock: the other gets it when that one knows that it has lost it.
func TestQuarantineOverKilledServer(t *testing.T) {
	s := newSite(t)
	a, b := s.app(fallback.Local{MaxTTL: time.Second}), s.app(fallback.Local{MaxTTL: time.Second})
	for range rounds(1, 10) {
		l := s.acquire(a.Client, "k")
		s.srv.Kill()
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		var got *holdfast.Lease
		s.await("a degraded lease", func() bool {
			var err error
			got, err = b.Acquire(ctx, "k")
			return err == nil
		})
		cancel()
		if l.Context().Err() == nil || !got.Degraded() {
			t.Errorf("both hold it, degraded %v", got.Degraded())
		}
		_ = l.Release(s.ctx)
		s.release(got)
		s.srv.Restart()
		for _, app := range []*app{a, b} {
			s.await("the recovery", func() bool {
				l, err := app.TryAcquire(s.ctx, "free")
				defer l.Release(s.ctx)
				return err == nil && !l.Degraded()
			})
		}
	}
}

// Behind a black hole callers with 100 ms to spare open the breaker all the same, and
// one that nobody uses is closed again soon after the hole has gone.
func TestBlackHoleAndShortDeadlines(t *testing.T) {
	s := newSite(t)
	a := s.app(local)
	s.release(s.acquire(a.Client, "warm"))
	s.proxy.Cut()
	for i := range 20 {
		ctx, cancel := context.WithTimeout(s.ctx, 100*time.Millisecond)
		start := time.Now()
		l, err := a.Acquire(ctx, fmt.Sprint(i))
		if d := time.Since(start); d > soon {
			t.Errorf("the call took %v", d)
		}
		if err != nil && !errors.Is(err, holdfast.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		_ = l.Release(s.ctx)
		cancel()
	}
	s.await("the breaker opens", func() bool { return a.log.count("circuit breaker open") > 0 })
	l := s.degraded(a, "k")
	stop := s.keep(l)
	s.proxy.Heal()
	s.within(soon, "the recovery of an idle process", func() {
		s.await("the recovery", func() bool { return a.log.count("degraded mode is over") == 1 })
	})
	if l.Degraded() {
		t.Error("the lease was not promoted")
	}
	stop()
	s.release(l)
}

// A storm of cancellations on a healthy server never opens the breaker.
func TestStormOfCancellations(t *testing.T) {
	s := newSite(t)
	a := s.app(local, holdfast.WithAttemptTimeout(4*time.Second), holdfast.WithCommandTimeout(4*time.Second))
	s.release(s.acquire(a.Client, "warm"))
	s.proxy.Delay(10 * time.Millisecond)
	var wg sync.WaitGroup
	for i := range 300 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(s.ctx, time.Duration(i%30)*time.Millisecond)
			defer cancel()
			l, err := a.Acquire(ctx, fmt.Sprint(i%40))
			if err == nil && l.Degraded() {
				t.Error("a degraded lease")
			}
			_ = l.Release(s.ctx)
		})
	}
	wg.Wait()
	if n := a.log.count("circuit breaker"); n != 0 {
		t.Errorf("logged %s", a.log)
	}
}

// Redis comes and goes faster than anybody can use it: who is inside stays alone, and
// at the end all is well.
func TestFlappingServer(t *testing.T) {
	s := newSite(t)
	a := s.app(local)
	var inside atomic.Int32
	ctx, cancel := context.WithCancel(s.ctx)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				l, err := a.Acquire(ctx, "k", holdfast.WithWaitTimeout(time.Second))
				if err != nil {
					continue
				}
				if inside.Add(1) > 1 {
					t.Error("two inside")
				}
				time.Sleep(5 * time.Millisecond)
				inside.Add(-1)
				_ = l.Release(ctx)
			}
		})
	}
	for range rounds(6, 60) {
		s.down()
		time.Sleep(time.Duration(100+rand.N(300)) * time.Millisecond)
		s.up()
		time.Sleep(time.Duration(50+rand.N(300)) * time.Millisecond)
	}
	cancel()
	wg.Wait()
	s.await("the recovery", func() bool {
		l, err := a.TryAcquire(s.ctx, "k")
		defer l.Release(s.ctx)
		return err == nil && !l.Degraded()
	})
}
