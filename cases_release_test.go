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

// C004: a release that fails frees the place inside the process all the same.
func TestC004AFailedReleaseFreesTheGate(t *testing.T) {
	s := newSite(t)
	c := s.process()
	l := s.acquire(c, "k", holdfast.WithTTL(200*time.Millisecond), holdfast.WithoutRenewal())
	<-time.After(400 * time.Millisecond)
	s.only(l.Release(s.ctx), holdfast.ErrNotHeld)
	s.within(soon, "the next acquire", func() { s.release(s.acquire(c, "k")) })
}

// C010: the handle of an acquire that failed can be used without harm.
func TestC010TheLeaseOfAFailedAcquire(t *testing.T) {
	s := newSite(t)
	held := s.acquire(s.process(), "k")
	l, err := s.process().TryAcquire(s.ctx, "k")
	s.only(err, holdfast.ErrNotAcquired)
	s.only(l.Release(s.ctx), holdfast.ErrNotHeld)
	s.only(l.Extend(s.ctx, time.Second), holdfast.ErrNotHeld)
	if l.Token() != "" || l.Key() != "" || l.Context().Err() == nil {
		t.Error("not the zero values")
	}
	s.release(held)
}

// passHook is a hook that does nothing, as of an instrumentation.
type passHook struct{}

func (passHook) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (passHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (passHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// C015: whatever bytes there are in an owner or an identity, the release matches.
func TestC015OddBytes(t *testing.T) {
	s := newSite(t)
	rdb := s.srv.Client(t)
	rdb.AddHook(passHook{})
	for _, odd := range []string{"\x00\x01\xfe\xff", "ünïcödé ✓", `quotes " and '`, "cr\r\nlf", "blank and \ttab", "{braces}", "%25", "-"} {
		c := s.client(rdb, holdfast.WithIdentity(odd))
		l := s.acquire(c, "k", holdfast.WithOwner(odd))
		again := s.acquire(s.process(), "k", holdfast.WithOwner(odd))
		if info, err := c.Inspect(s.ctx, "k"); err != nil || info.Holder != odd {
			t.Errorf("%q was read back as %q, %v", odd, info.Holder, err)
		}
		if err := l.Extend(s.ctx, time.Minute); err != nil {
			t.Errorf("%q: %v", odd, err)
		}
		s.release(again)
		s.release(l)
		if s.held("k") {
			t.Errorf("%q: the key is there after the release", odd)
		}
	}
	large := strings.Repeat("o", 4096)
	_, err := holdfast.New(rdb, holdfast.WithIdentity(large))
	s.only(err, holdfast.ErrInvalid)
	_, err = s.process().TryAcquire(s.ctx, "k", holdfast.WithOwner(large))
	s.only(err, holdfast.ErrInvalid)
}

// C005: the gate is not freed before the key is, however the release was called.
func TestC005TheGateWaitsForTheKey(t *testing.T) {
	s := newSite(t)
	c := s.proxied()
	l := s.acquire(c, "k")
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	s.proxy.Delay(150 * time.Millisecond)
	_ = l.Release(ctx)
	next := s.acquire(c, "k")
	if before, _ := l.Fence(); !s.held("k") {
		t.Error("the key of the next lease is gone")
	} else if fence, _ := next.Fence(); fence <= before {
		t.Errorf("fence %d after %d", fence, before)
	}
	s.release(next)
}

// C008: a server that refuses writes has not released.
func TestC008ARefusedReleaseIsNoRelease(t *testing.T) {
	s := newSite(t)
	c := s.process(holdfast.WithCommandTimeout(time.Second))
	l := s.acquire(c, "k", holdfast.WithTTL(2*time.Second))
	s.rdb.ConfigSet(s.ctx, "min-replicas-to-write", "1")
	err := l.Release(s.ctx)
	s.only(err, holdfast.ErrUnavailable)
	if err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
		t.Errorf("%v does not say what the server said", err)
	}
	s.await("the end of the TTL", func() bool { return !s.held("k") })
	s.rdb.ConfigSet(s.ctx, "min-replicas-to-write", "0")
	s.release(s.acquire(s.process(), "k"))
}

// C014: what is lost is told on both protocols.
func TestC014BothProtocolsTellOfALoss(t *testing.T) {
	s := newSite(t)
	for _, protocol := range []int{2, 3} {
		c := s.client(s.srv.Client(t, func(o *redis.Options) { o.Protocol = protocol }))
		for _, harm := range []func(){
			func() { s.del("k") },
			func() {
				s.rdb.Set(s.ctx, record("k"), "hf1 token=other fence=1 since=1 holder=x owner=- mode=x min=0 trace=-", time.Minute)
			},
		} {
			l := s.acquire(c, "k")
			harm()
			s.only(l.Extend(s.ctx, time.Minute), holdfast.ErrNotHeld)
			s.only(l.Release(s.ctx), holdfast.ErrNotHeld)
			s.rdb.Del(s.ctx, record("k"))
		}
	}
}
