package holdfast_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/client"
)

// C078: a reply comes too late and the script is sent again: it counts once, so
// that one release frees the lock.
func TestC078AResentAcquireCountsOnce(t *testing.T) {
	for name, opts := range map[string][]holdfast.AcquireOption{
		"plain":     nil,
		"reentrant": {holdfast.Reentrant()},
		"owner":     {holdfast.WithOwner("job 7")},
	} {
		for fault, strike := range map[string]func(s *site){
			"paused":           func(s *site) { s.srv.Do(s, "CLIENT", "PAUSE", 1000, "WRITE") },
			"first reply lost": func(s *site) { s.proxy.DropReplies(1) },
		} {
			t.Run(name+"/"+fault, func(t *testing.T) {
				s := newSite(t)
				rdb := s.proxy.Client(t, func(o *redis.Options) { o.MaxRetries, o.ReadTimeout = 3, 300*time.Millisecond })
				c := s.client(rdb, holdfast.WithAttemptTimeout(300*time.Millisecond), holdfast.WithCommandTimeout(time.Second))
				s.release(s.acquire(c, "warm"))
				strike(s)
				l, err := c.Acquire(s.ctx, "k", opts...)
				if err != nil {
					s.only(err, holdfast.ErrUnavailable)
				} else if err := l.Release(s.ctx); err != nil && fault != "paused" {
					t.Errorf("Release: %v", err)
				}
				s.await("the lock is free", func() bool { return !s.held("k") })
				s.release(s.acquire(s.process(), "k"))
			})
		}
	}
}

// C097: the server has forgotten the scripts, at any moment.
func TestC097ForgottenScripts(t *testing.T) {
	s := newSite(t)
	c := s.process(holdfast.WithTTL(6*time.Second), holdfast.WithRenewalInterval(200*time.Millisecond))
	flush := func() { s.srv.Do(t, "SCRIPT", "FLUSH") }
	for _, opts := range [][]holdfast.AcquireOption{nil, {holdfast.WithOwner("job 7")}, {holdfast.WithMinHold(time.Second)}} {
		flush()
		l := s.acquire(c, "k", opts...)
		renewed := make(chan holdfast.Event, 1000)
		l.Observe(func(e holdfast.Event) { renewed <- e })
		flush()
		if e := <-renewed; e.Kind != client.EventRenewed {
			t.Errorf("instead of a renewal: %+v", e)
		}
		flush()
		if err := l.Extend(s.ctx, time.Minute); err != nil {
			t.Error(err)
		}
		flush()
		if _, err := c.Inspect(s.ctx, "k"); err != nil {
			t.Error(err)
		}
		flush()
		s.release(l)
	}
}

// C102: the server becomes a replica: it cannot be asked, and that is no answer.
func TestC102ADemotedServer(t *testing.T) {
	s := newSite(t)
	c := s.process(holdfast.WithTTL(2*time.Second), holdfast.WithCommandTimeout(300*time.Millisecond), holdfast.WithAttemptTimeout(300*time.Millisecond))
	held, released := s.acquire(c, "held"), s.acquire(c, "released")
	s.srv.Do(t, "REPLICAOF", "127.0.0.1", "1")
	s.only(held.Extend(s.ctx, time.Minute), holdfast.ErrUnavailable)
	ctx, cancel := context.WithTimeout(s.ctx, 500*time.Millisecond)
	defer cancel()
	s.only(released.Release(ctx), holdfast.ErrUnavailable)
	ctx, cancel = context.WithTimeout(s.ctx, time.Second)
	defer cancel()
	s.within(time.Second+soon, "Acquire", func() {
		_, err := c.Acquire(ctx, "k")
		s.only(err, holdfast.ErrUnavailable)
	})
	s.lost(held, patience)
	s.srv.Do(t, "REPLICAOF", "NO", "ONE")
	s.await("the Client works again", func() bool {
		l, err := c.TryAcquire(s.ctx, "k")
		if err == nil {
			s.release(l)
		}
		return err == nil
	})
}

// C155: a job of a few milliseconds runs once a tick, though the clocks of its
// schedulers differ: what is released early rests.
func TestC155OncePerTick(t *testing.T) {
	s := newSite(t)
	const ticks, period, least = 2, 5 * time.Second, 3500 * time.Millisecond
	var runs [ticks]atomic.Int32
	var work sync.WaitGroup
	start := time.Now()
	for _, skew := range []time.Duration{0, 200 * time.Millisecond, 400 * time.Millisecond} {
		c := s.process(holdfast.WithMinHold(least))
		work.Go(func() {
			for i := range ticks {
				time.Sleep(time.Until(start.Add(time.Duration(i)*period + skew)))
				l, err := c.TryAcquire(s.ctx, "cron")
				if err != nil {
					s.only(err, holdfast.ErrNotAcquired)
					continue
				}
				runs[i].Add(1)
				time.Sleep(5 * time.Millisecond)
				if err := l.Release(s.ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	for i := range runs {
		if n := runs[i].Load(); n != 1 {
			t.Errorf("tick %d: %d runs", i, n)
		}
	}
}

// C157: the server evicts the key: the holder is told by the next renewal. It is
// full: what needs memory says so, and a release frees the lock.
func TestC157AFullServer(t *testing.T) {
	s := newSite(t)
	c := s.process(holdfast.WithTTL(time.Minute), holdfast.WithRenewalInterval(200*time.Millisecond))
	evicted, kept := s.acquire(c, "evicted"), s.acquire(s.process(), "kept")
	s.srv.Do(t, "CONFIG", "SET", "maxmemory-policy", "allkeys-random", "maxmemory", "3mb")
	filler := strings.Repeat("x", 10<<10)
	for i := 0; s.held("evicted"); i++ {
		s.rdb.Set(s.ctx, "filler"+string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676%26)), filler, 0)
	}
	s.lost(evicted, soon) // long before its TTL

	s.srv.Do(t, "FLUSHALL")
	_ = kept.Release(s.ctx)
	kept = s.acquire(c, "kept")
	s.srv.Do(t, "CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "1")
	_, err := c.TryAcquire(s.ctx, "another")
	s.only(err, holdfast.ErrUnavailable)
	if err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("the server's reason is missing: %v", err)
	}
	if err := kept.Extend(s.ctx, 2*time.Minute); err != nil {
		t.Errorf("Extend: %v", err)
	}
	s.release(kept)
	if s.held("kept") {
		t.Error("the key is there after the release")
	}
}

// C158: to look is not to take.
func TestC158InspectDisturbsNobody(t *testing.T) {
	s := newSite(t)
	viewer := s.process()
	look := func() {
		if _, err := viewer.Inspect(s.ctx, "k"); err != nil {
			t.Error(err)
		}
	}
	l := s.acquire(s.process(), "k")
	s.srv.Do(t, "CONFIG", "RESETSTAT")
	for range 50 {
		look()
	}
	for name, n := range s.srv.Commands(t) {
		switch name {
		case "set", "del", "pexpire", "expire", "zadd", "zrem", "psetex", "incr", "publish":
			t.Errorf("Inspect wrote: %s, %d times", name, n)
		}
	}
	s.release(l)

	ctx, cancel := context.WithCancel(s.ctx)
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			for ctx.Err() == nil {
				look()
			}
		})
	}
	c := s.process()
	for range rounds(200, 2000) {
		l, err := c.TryAcquire(s.ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		s.release(l)
	}
	cancel()
	work.Wait()
}

// C160: an operator takes the lock away: the one who waits gets it at once, and the
// old holder is told and does no harm.
func TestC160Break(t *testing.T) {
	s := newSite(t)
	a := s.process(holdfast.WithTTL(time.Minute), holdfast.WithRenewalInterval(300*time.Millisecond))
	b := s.process()
	l := s.acquire(a, "k")
	waiter := make(chan *holdfast.Lease, 1)
	go func() {
		l, err := b.Acquire(s.ctx, "k")
		if err != nil {
			t.Error(err)
		}
		waiter <- l
	}()
	time.Sleep(100 * time.Millisecond)
	if err := s.process().Break(s.ctx, "k"); err != nil {
		t.Fatal(err)
	}
	var next *holdfast.Lease
	s.within(soon, "the waiter", func() { next = <-waiter })
	s.lost(l, soon)
	s.only(l.Release(s.ctx), holdfast.ErrNotHeld)
	if next.Context().Err() != nil || !s.held("k") {
		t.Error("the next holder lost the lock to the old one")
	}
	s.release(next)
}
