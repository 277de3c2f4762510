package holdfast_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/client"
)

// C034, C048: after a loss the same Client has the lock again, and renews it.
func TestC034C048TheNextLeaseIsRenewed(t *testing.T) {
	s := newSite(t)
	c := s.process(holdfast.WithTTL(2 * time.Second))
	lost := s.acquire(c, "k")
	s.del("k")
	s.lost(lost, soon)
	l := s.acquire(c, "k")
	var renewed atomic.Int32
	l.Observe(func(e holdfast.Event) {
		if e.Kind == client.EventRenewed {
			renewed.Add(1)
		}
	})
	for start := time.Now(); time.Since(start) < 5*time.Second; time.Sleep(50 * time.Millisecond) {
		if left := s.ttl("k"); left <= 0 {
			t.Fatalf("the key is gone; the lease: %v", context.Cause(l.Context()))
		}
	}
	if n := renewed.Load(); n < 3 {
		t.Errorf("%d renewals in two and a half TTLs", n)
	}
	s.release(l)
}

// C035: renewal ends with the lease, whatever the release runs into.
func TestC035NoRenewalAfterTheRelease(t *testing.T) {
	s := newSite(t)
	c := s.proxied(holdfast.WithTTL(time.Second), holdfast.WithRenewalInterval(20*time.Millisecond))
	var work sync.WaitGroup
	for w := range 4 {
		work.Go(func() {
			for i := range rounds(50, 500) {
				ctx, cancel := context.WithCancel(s.ctx)
				if i%3 == 0 {
					time.AfterFunc(rand.N(3*time.Millisecond), cancel)
				}
				if w == 0 && i%10 == 5 {
					s.rdb.Do(s.ctx, "CLIENT", "PAUSE", 50)
				}
				l, err := c.Acquire(ctx, string(rune('a'+w)))
				if err == nil {
					_ = l.Release(ctx)
				}
				cancel()
			}
		})
	}
	work.Wait()
	s.await("all keys are gone", func() bool { return len(s.records()) == 0 })
	s.proxy.ResetStats()
	time.Sleep(time.Second)
	if cmds := s.proxy.Commands(); len(cmds) != 0 {
		t.Errorf("%d commands after all was released, the first %v", len(cmds), cmds[0])
	}
}

// C037: the server is away for a while, or says that it is busy, and the lease
// lives on.
func TestC037ATransientFaultIsSurvived(t *testing.T) {
	for name, fault := range map[string]func(s *site, failed <-chan struct{}){
		"frozen": func(s *site, failed <-chan struct{}) {
			s.srv.Freeze()
			<-failed
			s.srv.Thaw()
		},
		"busy": func(s *site, failed <-chan struct{}) {
			s.srv.Do(s, "CONFIG", "SET", "lua-time-limit", "1")
			endless := s.srv.Client(s, func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = -1, -1 })
			var work sync.WaitGroup
			work.Go(func() { endless.Eval(s.ctx, "while true do end", nil) })
			<-failed
			s.srv.Do(s, "SCRIPT", "KILL")
			work.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			c := s.process(holdfast.WithTTL(6*time.Second), holdfast.WithRenewalInterval(500*time.Millisecond),
				holdfast.WithCommandTimeout(300*time.Millisecond), holdfast.WithAttemptTimeout(300*time.Millisecond))
			l := s.acquire(c, "k")
			failed, renewed := make(chan struct{}, 1), make(chan struct{}, 1)
			l.Observe(func(e holdfast.Event) {
				told := map[client.EventKind]chan struct{}{client.EventRenewalFailed: failed, client.EventRenewed: renewed}[e.Kind]
				select {
				case told <- struct{}{}:
				default:
				}
			})
			fault(s, failed)
			select {
			case <-renewed: // one from before, perhaps
				<-renewed
			case <-time.After(patience):
				t.Error("renewals do not work again")
			}
			if l.Context().Err() != nil || s.ttl("k") <= 0 {
				t.Errorf("the lease: %v", context.Cause(l.Context()))
			}
			s.release(l)
		})
	}
}

// C038: the work is told that the lock was lost, by the next renewal, and renewal
// stops.
func TestC038TheWorkIsTold(t *testing.T) {
	s := newSite(t)
	a := s.proxied(holdfast.WithTTL(30*time.Second), holdfast.WithRenewalInterval(500*time.Millisecond))
	b := s.process()
	l := s.acquire(a, "k")
	s.del("k")
	next := s.acquire(b, "k")
	s.lost(l, 500*time.Millisecond+soon) // the TTL is far off
	s.proxy.ResetStats()
	time.Sleep(1200 * time.Millisecond)
	if n := extends(s.proxy.Commands()); n != 0 {
		t.Errorf("%d renewals after the loss", n)
	}
	s.only(l.Release(s.ctx), holdfast.ErrNotHeld)
	s.release(next)
}

// C039: a holder that is cut off without a word has ended before another is in,
// whatever the time-outs of its redis client are.
func TestC039ASilentPartition(t *testing.T) {
	s := newSite(t)
	rdb := s.proxy.Client(t, func(o *redis.Options) { o.ReadTimeout = 30 * time.Second })
	a := s.client(rdb, holdfast.WithTTL(2*time.Second))
	b := s.process()
	l := s.acquire(a, "k")
	renewed := make(chan struct{}, 100)
	l.Observe(func(e holdfast.Event) {
		if e.Kind == client.EventRenewed {
			renewed <- struct{}{}
		}
	})
	renewal := func() {
		select {
		case <-renewed:
		case <-l.Context().Done():
			t.Fatalf("lost too early: %v", context.Cause(l.Context()))
		}
	}
	renewal()                            // the connection for pipelines is made, the script known
	s.proxy.Delay(50 * time.Millisecond) // it counts from before a renewal was sent
	renewal()
	renewal()
	s.proxy.Cut()
	next := s.acquire(b, "k")
	got := time.Now()
	if l.Context().Err() == nil {
		t.Error("another is in, and the holder's context lives")
	}
	if d := l.Deadline(); d.After(got) {
		t.Errorf("another is in %v before the holder's deadline", d.Sub(got))
	}
	s.lost(l, soon)
	s.release(next)
}

// C040: neither Extend nor a renewal touches the lock of another.
func TestC040ExtendLeavesTheNextHolderAlone(t *testing.T) {
	s := newSite(t)
	a := s.process(holdfast.WithTTL(time.Minute), holdfast.WithRenewalInterval(200*time.Millisecond))
	b := s.process(holdfast.WithTTL(10*time.Second), holdfast.WithoutRenewal())
	for _, explicit := range []bool{true, false} {
		l := s.acquire(a, "k")
		s.del("k")
		next := s.acquire(b, "k")
		if explicit {
			s.only(l.Extend(s.ctx, time.Minute), holdfast.ErrNotHeld)
		}
		s.lost(l, soon)
		if left := s.ttl("k"); left > 10*time.Second {
			t.Errorf("the next holder's TTL became %v", left)
		}
		s.release(next)
	}
}

// C041: Extend does not bring back a lease that has run out.
func TestC041ExtendCreatesNothing(t *testing.T) {
	s := newSite(t)
	l := s.acquire(s.process(), "k", holdfast.WithTTL(100*time.Millisecond), holdfast.WithoutRenewal())
	time.Sleep(200 * time.Millisecond)
	s.only(l.Extend(s.ctx, time.Minute), holdfast.ErrNotHeld)
	s.await("the key is gone", func() bool { return !s.held("k") })
}

// C044: that nobody listens to a loss is no reason to crash.
func TestC044ALossWithoutListener(t *testing.T) {
	s := newSite(t)
	const ttl = 500 * time.Millisecond
	l := s.acquire(s.process(holdfast.WithTTL(ttl)), "k")
	s.srv.Kill()
	time.Sleep(3 * ttl)
	s.only(l.Release(s.ctx), holdfast.ErrNotHeld)
}

// C045: work that never returns does not keep the lock beyond its maximum hold.
func TestC045MaxHold(t *testing.T) {
	s := newSite(t)
	a, b := s.process(holdfast.WithTTL(2*time.Second)), s.process()
	start := time.Now()
	l := s.acquire(a, "k", holdfast.WithMaxHold(3*time.Second))
	next := s.acquire(b, "k")
	if d := time.Since(start); d < 3*time.Second || l.Context().Err() == nil {
		t.Errorf("another is in after %v, the holder's context: %v", d, l.Context().Err())
	}
	var lost *holdfast.LostError
	if !errors.As(context.Cause(l.Context()), &lost) || lost.Reason != client.EndMaxHold {
		t.Errorf("cause %v", context.Cause(l.Context()))
	}
	s.release(next)
}

// C047: work that takes longer than its TTL runs once at a time all the same.
func TestC047LongWorkRunsAlone(t *testing.T) {
	s := newSite(t)
	a, b := s.process(), s.process()
	var running, second atomic.Bool
	started := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		err := a.Do(s.ctx, "k", func(context.Context, *holdfast.Lease) error {
			running.Store(true)
			close(started)
			time.Sleep(4 * time.Second)
			if second.Load() {
				t.Error("a second run began before the first had ended")
			}
			running.Store(false)
			return nil
		}, holdfast.WithTTL(1500*time.Millisecond))
		if err != nil {
			t.Error(err)
		}
	})
	<-started
	s.await("the second run", func() bool {
		l, err := b.TryAcquire(s.ctx, "k")
		if err != nil {
			s.only(err, holdfast.ErrNotAcquired)
			time.Sleep(100 * time.Millisecond)
			return false
		}
		second.Store(true)
		if running.Load() {
			t.Error("two runs at a time")
		}
		s.release(l)
		return true
	})
	work.Wait()
}
