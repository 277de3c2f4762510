package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fallback"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// C104: contention is no outage: no degraded lease is handed out, and the breaker
// stays closed.
func TestC104ContentionNeverDegrades(t *testing.T) {
	s := newSite(t)
	a := s.app(local, holdfast.WithAttemptTimeout(4*time.Second), holdfast.WithCommandTimeout(4*time.Second))
	l := s.acquire(s.process(), "k")
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(s.ctx, 500*time.Millisecond)
			defer cancel()
			time.Sleep(time.Duration(i) * 10 * time.Millisecond)
			got, err := a.Acquire(ctx, "k")
			if got != nil || !errors.Is(err, holdfast.ErrNotAcquired) || errors.Is(err, holdfast.ErrUnavailable) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	wg.Wait()
	if a.log.count("circuit breaker") != 0 || a.log.count("degraded") != 0 {
		t.Errorf("logged %s", a.log)
	}
	s.release(l)
}

// C105: one that is cut off fails closed by default; else it says that it is degraded,
// in the lease, the metrics and one line of log.
func TestC105NoSilentSplit(t *testing.T) {
	s := newSite(t)
	l := s.acquire(s.process(), "k")
	closed, open := s.app(fallback.FailClosed{}), s.app(local)
	s.down()
	for range 20 {
		_, err := closed.TryAcquire(s.ctx, "k")
		s.only(err, holdfast.ErrUnavailable)
	}
	for range 3 {
		got := s.degraded(open, "k")
		if _, fenced := got.Fence(); fenced {
			t.Error("it has a fence")
		}
		if n := open.metric(t, "holdfast.lease.count", "mode=degraded"); n != 1 {
			t.Errorf("%d degraded leases by the metrics", n)
		}
		s.release(got)
	}
	if n := open.metric(t, "holdfast.acquire.duration", "mode=degraded"); n != 3 {
		t.Errorf("%d degraded acquires by the metrics", n)
	}
	if n := open.log.count("degraded mode: locks exclude this process only"); n != 1 {
		t.Errorf("%d lines of log", n)
	}
	if n := closed.log.count("degraded"); n != 0 {
		t.Errorf("%d lines of log of one that fails closed", n)
	}
	s.release(l)
}

// C107: held and unavailable are told apart, whatever way the server cannot work.
func TestC107DownIsNotHeld(t *testing.T) {
	s := newSite(t)
	a := s.app(fallback.FailClosed{}, holdfast.WithBreaker(fallback.BreakerConfig{MinRequests: 1000}))
	l := s.acquire(s.process(), "k")
	_, err := a.TryAcquire(s.ctx, "k")
	s.only(err, holdfast.ErrNotAcquired)
	s.release(l)
	unavailable := func(how string) {
		t.Helper()
		_, err := a.TryAcquire(s.ctx, "free")
		if s.only(err, holdfast.ErrUnavailable); t.Failed() {
			t.Fatalf("%s: %v", how, err)
		}
	}
	s.rdb.ConfigSet(s.ctx, "maxmemory", "1")
	unavailable("OOM")
	s.rdb.ConfigSet(s.ctx, "maxmemory", "0")
	s.rdb.Do(s.ctx, "REPLICAOF", "127.0.0.1", "1")
	unavailable("READONLY")
	s.srv.Kill()
	unavailable("killed")
}

// C108: it is made while Redis is down, at once; and who waits when Redis is killed is
// told, or goes on.
func TestC108DownAtTheWrongTime(t *testing.T) {
	for name, p := range map[string]fallback.Policy{"off": fallback.FailClosed{}, "on": local} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			holder := s.process()
			a := s.app(p)
			const waiters = 20
			for i := range waiters {
				s.acquire(holder, fmt.Sprint(i))
			}
			var wg sync.WaitGroup
			var degraded, refused atomic.Int32
			for i := range waiters {
				wg.Go(func() {
					lease, err := a.Acquire(s.ctx, fmt.Sprint(i))
					switch {
					case err == nil && lease.Degraded():
						degraded.Add(1)
						s.release(lease)
					case errors.Is(err, holdfast.ErrUnavailable) && !errors.Is(err, holdfast.ErrNotAcquired):
						refused.Add(1)
					default:
						t.Errorf("got %v", err)
					}
				})
			}
			time.Sleep(100 * time.Millisecond)
			s.srv.Kill()
			s.within(soon, "the wait", wg.Wait)
			if n := degraded.Load(); (n > 0) != (name == "on") {
				t.Errorf("%d degraded, %d refused", n, refused.Load())
			}
			var late *app
			s.within(time.Second, "New while Redis is down", func() { late = s.app(p) })
			if name == "on" {
				s.release(s.degraded(late, "k"))
			} else {
				_, err := late.TryAcquire(s.ctx, "k")
				s.only(err, holdfast.ErrUnavailable)
			}
		})
	}
}

// C110: a trial that is cancelled keeps no slot.
func TestC110CancelledTrial(t *testing.T) {
	s := newSite(t)
	slow := hasty
	slow.ProbeInterval, slow.MinRequests, slow.Window = time.Hour, 2, 3*time.Second
	a := s.app(fallback.FailClosed{}, holdfast.WithBreaker(slow))
	s.release(s.acquire(a.Client, "warm"))
	s.srv.Freeze()
	s.await("the breaker opens", func() bool {
		_, _ = a.TryAcquire(s.ctx, "k")
		return a.log.count("circuit breaker open") > 0
	})
	time.Sleep(slow.OpenTimeout)
	ctx, cancel := context.WithTimeout(s.ctx, 20*time.Millisecond)
	defer cancel()
	_, err := a.Acquire(ctx, "k")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the trial: %v", err)
	}
	s.srv.Thaw()
	s.within(slow.OpenTimeout+soon, "the recovery", func() {
		s.await("a trial", func() bool {
			l, err := a.TryAcquire(s.ctx, "other")
			_ = l.Release(s.ctx)
			return err == nil
		})
	})
}

// C111: of 50 calls that come when the breaker is half-open the configured number
// reaches Redis.
func TestC111HalfOpenAdmits(t *testing.T) {
	s := newSite(t)
	slow := hasty
	slow.ProbeInterval = time.Hour
	a := s.app(fallback.FailClosed{}, holdfast.WithBreaker(slow))
	s.release(s.acquire(a.Client, "warm"))
	s.down()
	s.await("the breaker opens", func() bool {
		_, _ = a.TryAcquire(s.ctx, "k")
		return a.log.count("circuit breaker open") > 0
	})
	time.Sleep(slow.OpenTimeout + 10*time.Millisecond)
	s.up()
	s.proxy.ResetStats()
	s.proxy.HoldReplies(redistest.Command.Script)
	var wg sync.WaitGroup
	var refused atomic.Int32
	for i := range 50 {
		wg.Go(func() {
			l, err := a.TryAcquire(s.ctx, fmt.Sprint(i))
			if errors.As(err, new(*fallback.OpenError)) {
				refused.Add(1)
			}
			_ = l.Release(s.ctx)
		})
	}
	s.await("the others are refused", func() bool { return refused.Load() == 49 })
	scripts := 0
	for _, c := range s.proxy.Commands() {
		if c.Script() {
			scripts++
		}
	}
	s.proxy.ReleaseReplies()
	wg.Wait()
	if scripts > 1 {
		t.Errorf("%d reached Redis", scripts)
	}
}

// C112: an open breaker refuses at once, and nobody hammers on it.
func TestC112OpenBreakerRefusesAtOnce(t *testing.T) {
	s := newSite(t)
	slow := hasty
	slow.OpenTimeout = time.Minute
	a := s.app(fallback.FailClosed{}, holdfast.WithBreaker(slow))
	s.down()
	s.await("the breaker opens", func() bool {
		_, _ = a.TryAcquire(s.ctx, "k")
		return a.log.count("circuit breaker open") > 0
	})
	ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
	defer cancel()
	var err error
	fastest := time.Hour // the machine may be busy
	for range 20 {
		start := time.Now()
		_, err = a.Acquire(ctx, "k")
		fastest = min(fastest, time.Since(start))
	}
	s.only(err, holdfast.ErrUnavailable)
	if fastest > 20*time.Millisecond || !errors.As(err, new(*fallback.OpenError)) {
		t.Errorf("refused after %v by %v", fastest, err)
	}
}

// C114: through freeze after freeze of the server the breaker of a busy process closes
// each time.
func TestC114ClosesAfterEachFreeze(t *testing.T) {
	s := newSite(t)
	a := s.app(fallback.FailClosed{})
	ctx, cancel := context.WithCancel(s.ctx)
	var wg sync.WaitGroup
	for i := range rounds(40, 200) {
		wg.Go(func() {
			for ctx.Err() == nil {
				l, err := a.Acquire(ctx, fmt.Sprint(i), holdfast.WithWaitTimeout(500*time.Millisecond))
				if err == nil {
					_ = l.Release(ctx)
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	for cycle := range rounds(2, 10) {
		s.srv.Freeze()
		s.await("the breaker opens", func() bool { return a.log.count("breaker=redis from=closed") > cycle })
		time.Sleep(500 * time.Millisecond)
		closed := a.log.count(`"holdfast: circuit breaker closed"`)
		s.srv.Thaw()
		s.await("the breaker closes", func() bool { return a.log.count(`"holdfast: circuit breaker closed"`) > closed })
		time.Sleep(1200 * time.Millisecond) // no flapping: the window is empty again
	}
	cancel()
	wg.Wait()
}
