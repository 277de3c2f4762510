package holdfast_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// bubble is a simulated Redis in a bubble, reached through a proxy that counts.
type bubble struct {
	*testing.T
	proxy *redistest.Proxy
}

func inBubble(t *testing.T, fn func(s *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { fn(&bubble{t, redistest.NewSim(t).Proxy()}) })
}

// process is a Client as of a process of its own; all of a test's share the time.
func (s *bubble) process(opts ...holdfast.Option) *holdfast.Client {
	s.Helper()
	c, err := holdfast.New(s.proxy.Client(s), append([]holdfast.Option{
		holdfast.WithLogger(slog.New(slog.DiscardHandler)),
		holdfast.WithGate(s.Name() + string(rune('a'+rand.IntN(1e6)))),
	}, opts...)...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// contend has n goroutines of c take the lock in turns and hold it for a moment, and
// returns how many commands that took.
func (s *bubble) contend(c *holdfast.Client, n, rounds int, hold time.Duration) int {
	s.Helper()
	warm, err := c.Acquire(s.Context(), "warm")
	if err != nil {
		s.Fatal(err)
	}
	_ = warm.Release(s.Context())
	s.proxy.ResetStats()
	var inside atomic.Int32
	var last atomic.Uint64
	var work sync.WaitGroup
	for range n {
		work.Go(func() {
			for range rounds {
				l, err := c.Acquire(s.Context(), "k")
				if err != nil {
					s.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					s.Error("two hold the lock")
				}
				fence, ok := l.Fence()
				if before := last.Swap(fence); !ok || fence <= before {
					s.Errorf("fence %d after %d", fence, before)
				}
				time.Sleep(hold)
				inside.Add(-1)
				if err := l.Release(s.Context()); err != nil {
					s.Error(err)
				}
			}
		})
	}
	work.Wait()
	synctest.Wait()
	return s.proxy.Stats().Total()
}

// A lock that many of one process want passes among them without asking Redis.
func TestLocalHandOver(t *testing.T) {
	inBubble(t, func(s *bubble) {
		t := s.T
		const n, rounds = 10, 20
		if commands := s.contend(s.process(), n, rounds, time.Millisecond); commands > n*rounds/5 {
			t.Errorf("%d commands for %d acquisitions", commands, n*rounds)
		}
		off := s.process(holdfast.WithoutLocalHandOver())
		if commands := s.contend(off, n, rounds, time.Millisecond); commands != 2*n*rounds {
			t.Errorf("%d commands for %d acquisitions without hand-over", commands, n*rounds)
		}
		if info, err := off.Inspect(t.Context(), "k"); err != nil || info.Held {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// However many of one process want the lock, others get it soon.
func TestLocalHandOverMakesWayForOthers(t *testing.T) {
	inBubble(t, func(s *bubble) {
		t := s.T
		a, b := s.process(), s.process()
		stop := make(chan struct{})
		var work sync.WaitGroup
		for range 10 {
			work.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if l, err := a.Acquire(t.Context(), "k"); err != nil {
						t.Error(err)
					} else {
						time.Sleep(3 * time.Millisecond)
						_ = l.Release(context.Background())
					}
				}
			})
		}
		time.Sleep(time.Second)
		for range 20 {
			start := time.Now()
			l, err := b.Acquire(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d > 50*time.Millisecond {
				t.Errorf("another process waits %v", d)
			}
			_ = l.Release(t.Context())
		}
		close(stop)
		work.Wait()
	})
}

// What a lease left to the next one is renewed, ends and is inspected as that one's.
func TestALeaseOfATenureIsALeaseLikeAnother(t *testing.T) {
	inBubble(t, func(s *bubble) {
		t := s.T
		c, other := s.process(holdfast.WithTTL(3*time.Second)), s.process()
		first, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan *holdfast.Lease, 1)
		go func() {
			l, err := c.Acquire(t.Context(), "k")
			if err != nil {
				t.Error(err)
			}
			got <- l
		}()
		synctest.Wait()
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := <-got
		if first.Token() != second.Token() {
			t.Fatal("it was not handed over inside the process")
		}
		if err := first.Extend(t.Context(), time.Hour); !errors.Is(err, holdfast.ErrNotHeld) {
			t.Errorf("the first lease was extended after its end: %v", err)
		}
		if err := first.Release(t.Context()); err != nil || second.Context().Err() != nil {
			t.Errorf("a second Release of the first lease: %v, and the second one ends: %v", err, second.Context().Err())
		}
		fence, _ := second.Fence()
		if before, _ := first.Fence(); fence != before+1 {
			t.Errorf("fence %d after %d", fence, before)
		}
		time.Sleep(20 * time.Second)
		if second.Context().Err() != nil {
			t.Fatalf("not renewed: %v", context.Cause(second.Context()))
		}
		if info, err := c.Inspect(t.Context(), "k"); err != nil || info.Fence != fence {
			t.Errorf("%+v, %v: want the fence %d", info, err, fence)
		}
		if err := other.Break(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		next, err := other.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		<-second.Context().Done()
		if cause := context.Cause(second.Context()); !errors.Is(cause, holdfast.ErrLost) {
			t.Error(cause)
		}
		if f, _ := next.Fence(); f <= fence {
			t.Errorf("fence %d after %d", f, fence)
		}
		_ = next.Release(t.Context())
	})
}

// Where the next asks for something else the lock goes back to Redis.
func TestNoLocalHandOverToOneWhoAsksOtherwise(t *testing.T) {
	for name, opts := range map[string][]holdfast.AcquireOption{
		"TTL":              {holdfast.WithTTL(time.Minute)},
		"class":            {holdfast.WithClass("other")},
		"without renewal":  {holdfast.WithoutRenewal()},
		"renewal interval": {holdfast.WithRenewalInterval(time.Second)},
		"min hold":         {holdfast.WithMinHold(time.Second)},
		"owner":            {holdfast.WithOwner("o")},
		"shared":           {holdfast.Shared()},
		"slots":            {holdfast.Slots(2)},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(s *bubble) {
				t := s.T
				c := s.process()
				first, err := c.Acquire(t.Context(), "k")
				if err != nil {
					t.Fatal(err)
				}
				got := make(chan *holdfast.Lease, 1)
				go func() {
					l, err := c.Acquire(t.Context(), "k", opts...)
					if err != nil {
						t.Error(err)
					}
					got <- l
				}()
				synctest.Wait()
				_ = first.Release(t.Context())
				if second := <-got; second.Token() == first.Token() {
					t.Error("it was handed over all the same")
				} else {
					_ = second.Release(t.Context())
				}
			})
		})
	}
}

// Whoever cannot use what was left to it gives it back: one whose context ends in that
// instant, one that a layer refuses.
func TestALockThatWasLeftToNobodyIsGivenBack(t *testing.T) {
	refuse := func(next holdfast.Handler) holdfast.Handler {
		return func(ctx context.Context, req holdfast.Request) (*holdfast.Lease, error) {
			if req.Attempt > 0 && req.WaitTimeout == time.Hour {
				return nil, errors.New("refused")
			}
			return next(ctx, req)
		}
	}
	inBubble(t, func(s *bubble) {
		t := s.T
		c, other := s.process(holdfast.WithAttemptMiddleware(refuse)), s.process()
		for round := range 200 {
			first, err := c.Acquire(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			opts := []holdfast.AcquireOption{}
			if round%2 == 0 {
				opts = append(opts, holdfast.WithWaitTimeout(time.Hour))
			}
			var second *holdfast.Lease
			var failed error
			var work sync.WaitGroup
			work.Go(func() { second, failed = c.Acquire(ctx, "k", opts...) })
			synctest.Wait()
			work.Go(func() { _ = first.Release(context.Background()) })
			if round%2 == 1 {
				work.Go(cancel)
			}
			work.Wait()
			if (second == nil) == (failed == nil) {
				t.Fatalf("lease %v and error %v", second, failed)
			}
			if second != nil {
				_ = second.Release(context.Background())
			}
			cancel()
			start := time.Now()
			l, err := other.Acquire(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("round %d: the lock came back after %v", round, d)
			}
			_ = l.Release(t.Context())
		}
	})
}

// An Extend of a lease that was handed over a moment ago shortens nothing: neither
// what the lease goes by nor what Redis keeps.
func TestAnExtendAfterAHandOffShortensNothing(t *testing.T) {
	inBubble(t, func(s *bubble) {
		t := s.T
		a, b := s.process(), s.process()
		for name, opts := range map[string][]holdfast.AcquireOption{"exclusive": nil, "slot": {holdfast.Slots(1)}, "owner": {holdfast.WithOwner("o")}} {
			first, err := a.Acquire(t.Context(), name, opts...)
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan *holdfast.Lease, 1)
			if name == "owner" {
				opts = nil
			}
			go func() {
				l, err := b.Acquire(t.Context(), name, opts...)
				if err != nil {
					t.Error(err)
				}
				got <- l
			}()
			time.Sleep(100 * time.Millisecond)
			_ = first.Release(t.Context())
			l := <-got
			if err := l.Extend(t.Context(), 300*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			info, err := a.Inspect(t.Context(), name)
			if left := time.Until(l.Deadline()); err != nil || info.TTL < left {
				t.Errorf("%s: Redis keeps the lock for %v, the lease goes by %v (%v)", name, info.TTL, left, err)
			}
			_ = l.Release(t.Context())
		}
	})
}
