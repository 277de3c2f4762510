package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
)

func TestC022CancellingAtTheMomentOfTheGrant(t *testing.T) {
	s := newSite(t)
	c := s.process(holdfast.WithTTL(3 * time.Second))
	const rounds = 1000
	var mu sync.Mutex
	held := map[string]bool{}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := w; i < rounds; i += 4 {
				ctx, cancel := context.WithCancel(s.ctx)
				time.AfterFunc(rand.N(2*time.Millisecond), cancel)
				key := fmt.Sprint("k", i)
				l, err := c.Acquire(ctx, key)
				if (l == nil) == (err == nil) {
					t.Errorf("lease %v and error %v", l, err)
				}
				if err == nil {
					mu.Lock()
					held["holdfast:{"+key+"}"] = true
					mu.Unlock()
				} else if !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "too many commands") { // the cap on abandoned ones
					t.Errorf("%v", err)
				}
			}
		})
	}
	wg.Wait()
	s.await("the clean-up", func() bool {
		for _, k := range s.rdb.Keys(s.ctx, "holdfast:{k*").Val() {
			if strings.HasSuffix(k, "}") && !held[k] {
				return false
			}
		}
		return true
	})
	t.Logf("%d of %d were granted", len(held), rounds)
	// The contexts of those that were granted have ended: nothing is renewed.
	<-time.After(3500 * time.Millisecond)
	for _, k := range s.rdb.Keys(s.ctx, "holdfast:{k*").Val() {
		if strings.HasSuffix(k, "}") {
			t.Errorf("%s lives on", k)
		}
	}
}

func TestC025ALeaseCountsFromItsGrantNotFromTheFirstTry(t *testing.T) {
	s := newSite(t)
	a, b := s.process(), s.process()
	l := s.acquire(a, "k")
	time.AfterFunc(1200*time.Millisecond, func() { _ = l.Release(context.Background()) })
	next := s.acquire(b, "k", holdfast.WithTTL(5*time.Second))
	left, ttl := time.Until(next.Deadline()), s.rdb.PTTL(s.ctx, "holdfast:{k}").Val()
	if left < 1500*time.Millisecond || left > ttl+50*time.Millisecond { // that of a hand-off, at first
		t.Errorf("deadline in %v, TTL %v", left, ttl)
	}
	s.await("a renewal to the lease's own TTL", func() bool { return time.Until(next.Deadline()) > 4*time.Second })
	if err := next.Extend(s.ctx, 6*time.Second); err != nil {
		t.Error(err)
	}
	s.release(next)
}

func TestC027AContenderGoesByTheHoldersTTL(t *testing.T) {
	s := newSite(t)
	a, b := s.process(), s.process()
	l := s.acquire(a, "k", holdfast.WithTTL(10*time.Second), holdfast.WithoutRenewal())
	_, err := b.Acquire(s.ctx, "k", holdfast.WithTTL(500*time.Millisecond), holdfast.WithWaitTimeout(time.Second))
	s.only(err, holdfast.ErrNotAcquired)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the wait ended with %v", err)
	}
	if ttl := s.rdb.PTTL(s.ctx, "holdfast:{k}").Val(); ttl > 9100*time.Millisecond || ttl < 5*time.Second {
		t.Errorf("the holder's TTL became %v", ttl)
	}
	s.release(l)
}

func TestC028AFailedTryChangesNothing(t *testing.T) {
	s := newSite(t)
	a, b := s.process(), s.process()
	l := s.acquire(a, "k", holdfast.WithTTL(5*time.Second), holdfast.WithoutRenewal())
	start, record := time.Now(), s.rdb.Get(s.ctx, "holdfast:{k}").Val()
	for range 200 {
		_, err := b.TryAcquire(s.ctx, "k")
		s.only(err, holdfast.ErrNotAcquired)
	}
	if ttl := s.rdb.PTTL(s.ctx, "holdfast:{k}").Val(); ttl > 5*time.Second-time.Since(start)+50*time.Millisecond {
		t.Errorf("TTL %v after %v", ttl, time.Since(start))
	}
	if s.rdb.Get(s.ctx, "holdfast:{k}").Val() != record {
		t.Error("the record changed")
	}
	s.release(l)
	var wg sync.WaitGroup
	for _, c := range []*holdfast.Client{a, b} {
		wg.Go(func() {
			for range 300 {
				if l, err := c.TryAcquire(s.ctx, "k"); err == nil {
					_ = l.Release(s.ctx)
				}
			}
		})
	}
	wg.Wait()
	if s.rdb.Exists(s.ctx, "holdfast:{k}").Val() != 0 {
		t.Error("a failed try made the lock again")
	}
}

func TestC122NoReleaseHangs(t *testing.T) {
	s := newSite(t)
	for round := range 10 {
		c := s.process()
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(s.ctx)
				defer cancel()
				l, err := c.TryAcquire(ctx, fmt.Sprint("k", round, i))
				if err != nil {
					if !errors.Is(err, holdfast.ErrClosed) {
						t.Error(err)
					}
					return
				}
				if i%3 == 0 {
					cancel()
				}
				start := time.Now()
				_ = l.Release(ctx)
				if d := time.Since(start); d > patience {
					t.Errorf("Release took %v", d)
				}
			})
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(s.ctx, time.Second)
			defer cancel()
			_ = c.Close(ctx)
		})
		wg.Wait()
	}
}

// C021: the acquire timed out here and was granted there. The grant is taken back,
// long before its TTL.
func TestC021AnUnseenGrantIsTakenBack(t *testing.T) {
	s := newSite(t)
	a, b := s.proxied(), s.process()
	s.release(s.acquire(a, "warm"))
	s.proxy.HoldReplies()
	ctx, cancel := context.WithTimeout(s.ctx, 500*time.Millisecond)
	defer cancel()
	_, err := a.Acquire(ctx, "k", holdfast.WithTTL(10*time.Minute))
	s.only(err, holdfast.ErrUnavailable)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the context's error is not to be seen: %v", err)
	}
	s.proxy.ReleaseReplies()
	s.within(soon, "the acquire by another", func() { s.release(s.acquire(b, "k")) })
}

// C024: with one server, two failures in a row are retried while time remains.
func TestC024InfrastructureErrorsAreRetried(t *testing.T) {
	s := newSite(t)
	c := s.client(s.proxy.Client(t, func(o *redis.Options) { o.MaxRetries = -1 }))
	s.proxy.DropReplies(2)
	s.release(s.acquire(c, "k"))
	if n := s.proxy.Stats().Dropped; n != 2 {
		t.Errorf("%d replies were lost", n)
	}
}

// C030: the fence rises with every grant, over several processes, releases and
// expiries, and stays over Extend and re-entry.
func TestC030FencesRise(t *testing.T) {
	s := newSite(t)
	var mu sync.Mutex
	var last uint64
	granted := func(l *holdfast.Lease) (fence uint64) {
		mu.Lock()
		defer mu.Unlock()
		fence, ok := l.Fence()
		if l.Context().Err() != nil {
			return fence // another may have been granted the lock since
		}
		if !ok || fence <= last {
			t.Errorf("fence %d, %v after %d", fence, ok, last)
		}
		last = fence
		return fence
	}
	var work sync.WaitGroup
	for range 3 {
		c := s.process(holdfast.Reentrant())
		work.Go(func() {
			for i := range 20 {
				expires := i%10 == 9
				var opts []holdfast.AcquireOption
				if expires {
					opts = append(opts, holdfast.WithTTL(200*time.Millisecond), holdfast.WithoutRenewal())
				}
				l, err := c.Acquire(s.ctx, "k", opts...)
				if err != nil {
					t.Error(err)
					return
				}
				fence := granted(l)
				if expires {
					<-l.Context().Done()
					continue
				}
				if err := l.Extend(s.ctx, time.Minute); err != nil {
					t.Error(err)
				}
				inner, err := c.Acquire(l.Context(), "k")
				if err != nil {
					t.Error(err)
				}
				if again, _ := inner.Fence(); again != fence {
					t.Errorf("re-entry made the fence %d out of %d", again, fence)
				}
				_ = inner.Release(s.ctx)
				if err := l.Release(s.ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
}
