package backoff

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"

	"github.com/holdfast-go/holdfast/client"
)

func TestContentionIsWaitedForUntilTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{ends: []error{heldFor(0)}}
		c := newClient(t, mustRetry(t), a.core)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		start := time.Now()
		_, err := c.Acquire(ctx, "k")
		if got := time.Since(start); got != 30*time.Minute {
			t.Errorf("waited for %v, want 30m", got)
		}
		if !errors.Is(err, client.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that it is held and the deadline", err)
		}
		for i, gap := range a.gaps() {
			whole := min(10*ms<<min(i, 10), 250*ms)
			if gap < whole/2-time.Microsecond || gap > whole {
				t.Fatalf("pause %d is %v, want %v to %v", i, gap, whole/2, whole)
			}
		}
		if n := len(a.began); n < 30*60*4 {
			t.Errorf("%d polls in 30 minutes", n)
		}
	})
}

func TestTryAcquireDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{ends: []error{heldFor(time.Second)}}
		c := newClient(t, mustRetry(t), a.core)
		start := time.Now()
		_, err := c.TryAcquire(t.Context(), "k")
		if !errors.Is(err, client.ErrNotAcquired) || time.Since(start) != 0 || len(a.began) != 1 {
			t.Errorf("%v after %v and %d attempts", err, time.Since(start), len(a.began))
		}
	})
}

func TestPollComesSoonAfterTheHoldersExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 40 * ms
		for range 200 {
			a := attempts{ends: []error{heldFor(ttl), nil}}
			c := newClient(t, mustRetry(t, WithContention(Constant(time.Hour))), a.core)
			lease, err := c.Acquire(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			if gap := a.gaps()[0]; gap <= ttl || gap > ttl+15*ms {
				t.Fatalf("polled after %v, want a little after %v", gap, ttl)
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAttemptsAreNumbered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []int
		a := attempts{ends: []error{heldFor(0), client.ErrUnavailable, heldFor(0), nil}}
		c := newClient(t, mustRetry(t), func(ctx context.Context, req client.Request) (*client.Lease, error) {
			seen = append(seen, req.Attempt)
			return a.core(ctx, req)
		})
		lease, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		_ = lease.Release(t.Context())
		for i, n := range seen {
			if n != i+1 {
				t.Errorf("attempts are numbered %v", seen)
				break
			}
		}
	})
}

func TestAnExplicitLimitEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{ends: []error{heldFor(0)}}
		c := newClient(t, mustRetry(t, WithContention(Limit(Constant(7*ms), 4))), a.core)
		_, err := c.Acquire(t.Context(), "k")
		if !errors.Is(err, client.ErrNotAcquired) || len(a.began) != 5 {
			t.Errorf("%v after %d attempts, want held after 5", err, len(a.began))
		}
	})
}

func TestAPolicyWithoutPausesDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{ends: []error{heldFor(0)}}
		c := newClient(t, mustRetry(t, WithContention(Custom(func() cenkalti.BackOff { return &cenkalti.ZeroBackOff{} }))), a.core)
		ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
		defer cancel()
		_, _ = c.Acquire(ctx, "k")
		if n := len(a.began); n > 101 {
			t.Errorf("%d polls in 100ms, want one a millisecond at most", n)
		}
	})
}

// C065: there is no hidden number of tries. C058: whoever loses goes on waiting.
func TestEverybodyGetsItInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lock
		c := newClient(t, mustRetry(t), l.core)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				lease, err := c.Acquire(ctx, "k")
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(200 * ms)
				_ = lease.Release(ctx)
			})
		}
		wg.Wait()
	})
}

// C067: the pauses count as waiting.
func TestPausesCountAsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			a := attempts{ends: []error{heldFor(0)}}
			c := newClient(t, mustRetry(t, WithContention(Constant(100*ms))), a.core)
			ctx, cancel := context.WithTimeout(t.Context(), 310*ms)
			start := time.Now()
			_, err := c.Acquire(ctx, "k")
			if got := time.Since(start); got != 310*ms || !errors.Is(err, client.ErrNotAcquired) {
				t.Errorf("%v after %v, want held after 310ms", err, got)
			}
			cancel()
		}
	})
}

// C064: those who begin together do not stay together. Two of many may meet by
// chance, so it is tried again before it counts.
func TestPollersDoNotMarchInStep(t *testing.T) {
	pair := []int{}
	for range 3 {
		if pair = inStep(t); pair == nil {
			return
		}
	}
	t.Errorf("pollers %v stay within 1ms for 5 tries in a row", pair)
}

func inStep(t *testing.T) (pair []int) {
	const pollers, streak = 20, 5
	tries := make([]attempts, pollers)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		layer := mustRetry(t)
		var wg sync.WaitGroup
		for i := range tries {
			tries[i].ends = []error{heldFor(0)}
			c := newClient(t, layer, tries[i].core)
			wg.Go(func() { _, _ = c.Acquire(ctx, "k") })
		}
		wg.Wait()
	})
	for i := range tries {
		for j := range i {
			row, a, b := 0, tries[i].began[1:], tries[j].began[1:]
			for k := range min(len(a), len(b)) {
				if (a[k] - b[k]).Abs() > ms {
					row = 0
				} else if row++; row == streak {
					return []int{j, i}
				}
			}
		}
	}
	return nil
}

func TestCallsShareNoBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, mustRetry(t), func(_ context.Context, req client.Request) (*client.Lease, error) {
			time.Sleep(rand.N(ms))
			return nil, heldFor(0)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for range 30 { // the race detector is the judge
			wg.Go(func() { _, _ = c.Acquire(ctx, "k") })
		}
		wg.Wait()
	})
}
