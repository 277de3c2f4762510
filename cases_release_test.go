package holdfast_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
)

func TestC001ALateReleaseTakesNothingFromTheNextHolder(t *testing.T) {
	s := newSite(t)
	a, b := s.process(), s.process()
	l := s.acquire(a, "k", holdfast.WithTTL(200*time.Millisecond), holdfast.WithoutRenewal())
	<-time.After(300 * time.Millisecond)
	next := s.acquire(b, "k", holdfast.WithTTL(5*time.Second), holdfast.WithoutRenewal())
	record, ttl := s.rdb.Get(s.ctx, "holdfast:{k}").Val(), s.rdb.PTTL(s.ctx, "holdfast:{k}").Val()
	s.only(l.Release(s.ctx), holdfast.ErrNotHeld)
	if got := s.rdb.Get(s.ctx, "holdfast:{k}").Val(); got != record || !strings.Contains(got, next.Token()) {
		t.Errorf("the record changed from %q to %q", record, got)
	}
	if got := s.rdb.PTTL(s.ctx, "holdfast:{k}").Val(); got > ttl || got < ttl-2*time.Second {
		t.Errorf("the TTL changed from %v to %v", ttl, got)
	}
	_, err := s.process().TryAcquire(s.ctx, "k")
	s.only(err, holdfast.ErrNotAcquired)
}

func TestC002OwnershipIsInTheLeaseNotInTheClient(t *testing.T) {
	s := newSite(t)
	c := s.process()
	first := s.acquire(c, "k", holdfast.WithTTL(200*time.Millisecond), holdfast.WithoutRenewal())
	second := s.acquire(c, "k")
	s.only(first.Release(s.ctx), holdfast.ErrNotHeld)
	if second.Context().Err() != nil {
		t.Error("the second's lease ended with the first's release")
	}
	s.release(second)
}

func TestC005ACancelledReleaseIsWaitedForByTheNextCaller(t *testing.T) {
	s := newSite(t)
	c := s.proxied(holdfast.WithAttemptTimeout(time.Second))
	s.release(s.acquire(c, "k"))
	ctx, cancel := context.WithCancel(s.ctx)
	l := s.acquire(c, "k")
	s.proxy.Delay(150 * time.Millisecond)
	cancel()
	err := l.Release(ctx) // returns before the key is gone
	if err != nil {
		s.only(err, holdfast.ErrUnavailable)
	}
	next := s.acquire(c, "k")
	if f1, _ := l.Fence(); next.Token() == l.Token() {
		t.Errorf("the same grant twice: %d", f1)
	}
	s.release(next)
}

func TestC007TheErrorsTellWhatHappened(t *testing.T) {
	s := newSite(t)
	c, other := s.process(), s.process()
	check := func(what string, want error, l *holdfast.Lease) {
		for op, err := range map[string]error{"Extend": l.Extend(s.ctx, time.Minute), "Release": l.Release(s.ctx)} {
			s.only(err, want)
			if err != nil && !strings.Contains(err.Error(), `"k"`) {
				t.Errorf("%s, %s: the key is not named: %v", what, op, err)
			}
		}
	}
	short := []holdfast.AcquireOption{holdfast.WithTTL(100 * time.Millisecond), holdfast.WithoutRenewal()}
	l := s.acquire(c, "k", short...)
	<-time.After(200 * time.Millisecond)
	check("expired", holdfast.ErrNotHeld, l)

	l = s.acquire(c, "k", short...)
	<-l.Context().Done()
	next := s.acquire(other, "k")
	check("taken", holdfast.ErrNotHeld, l)
	s.release(next)

	l = s.acquire(c, "k")
	s.srv.Kill()
	check("killed", holdfast.ErrUnavailable, l)
}

func TestC008AReleaseThatTheServerRefusesIsReported(t *testing.T) {
	s := newSite(t)
	a, b := s.process(holdfast.WithTTL(2*time.Second)), s.process()
	l := s.acquire(a, "k")
	s.srv.Do(t, "CONFIG", "SET", "min-replicas-to-write", "1")
	err := l.Release(s.ctx)
	s.only(err, holdfast.ErrUnavailable)
	if err != nil && !strings.Contains(err.Error(), "NOREPLICAS") {
		t.Errorf("the server's text is lost: %v", err)
	}
	<-time.After(2200 * time.Millisecond)
	s.srv.Do(t, "CONFIG", "SET", "min-replicas-to-write", "0")
	l, err = b.TryAcquire(s.ctx, "k")
	if err != nil {
		t.Fatalf("renewed after its release: %v", err)
	}
	s.release(l)
}

func TestC011ExtendAndReleaseRace(t *testing.T) {
	s := newSite(t)
	c := s.process()
	for i := range 200 {
		key := fmt.Sprint("k", i)
		l := s.acquire(c, key)
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				if err := l.Extend(s.ctx, time.Minute); err != nil {
					s.only(err, holdfast.ErrNotHeld)
					return
				}
			}
		})
		<-time.After(rand.N(2 * time.Millisecond))
		s.release(l)
		wg.Wait()
	}
	<-time.After(50 * time.Millisecond)
	for i := range 200 {
		if s.rdb.Exists(s.ctx, fmt.Sprintf("holdfast:{k%d}", i)).Val() != 0 {
			t.Errorf("lock %d came back", i)
		}
	}
}

func TestC012ALeaseBelongsToNoGoroutine(t *testing.T) {
	s := newSite(t)
	c := s.process()
	leases := make(chan *holdfast.Lease)
	go func() {
		l, err := c.Acquire(s.ctx, "k")
		if err != nil {
			t.Error(err)
		}
		leases <- l
	}()
	l := <-leases
	if err := l.Extend(s.ctx, time.Minute); err != nil {
		t.Error(err)
	}
	s.release(l)
}

func TestC014BothProtocolsSayTheSame(t *testing.T) {
	s := newSite(t)
	for _, protocol := range []int{2, 3} {
		rdb := s.srv.Client(t, func(o *redis.Options) { o.Protocol = protocol })
		c, other := s.client(rdb), s.client(rdb)
		key := fmt.Sprint("resp", protocol)
		l := s.acquire(c, key)
		if err := l.Extend(s.ctx, time.Minute); err != nil {
			t.Error(err)
		}
		s.release(l)

		l = s.acquire(c, key)
		s.del(key)
		s.only(l.Extend(s.ctx, time.Minute), holdfast.ErrNotHeld)
		s.only(l.Release(s.ctx), holdfast.ErrNotHeld)

		l = s.acquire(c, key)
		s.del(key)
		next := s.acquire(other, key)
		s.only(l.Extend(s.ctx, time.Minute), holdfast.ErrNotHeld)
		s.only(l.Release(s.ctx), holdfast.ErrNotHeld)

		// The same without anything learnt by an Extend before.
		s.release(next)
		l = s.acquire(c, key)
		s.del(key)
		s.only(l.Release(s.ctx), holdfast.ErrNotHeld)
	}
}
