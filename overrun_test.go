package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/backoff"
)

// overrun is how late calls returned, and how late goroutines woke that did nothing
// but wait for the same deadlines on the same machine.
type overrun struct{ calls, control []time.Duration }

// excess is what p99 of the calls has over that of the control.
func (o overrun) excess() time.Duration { return p99(o.calls) - p99(o.control) }

func p99(late []time.Duration) time.Duration {
	slices.Sort(late)
	return late[(99*len(late)+99)/100-1]
}

// A call returns with its context, give or take 50 ms at p99, while the server
// answers nothing: in an attempt, in the pause after one that timed out, or in the
// gate behind another caller. The redis client has go-redis's default options.
func TestCallsReturnWithTheirContextsAtP99(t *testing.T) {
	const most = 50 * time.Millisecond
	for name, fault := range map[string]struct{ begin, end func(*site) }{
		"frozen":     {func(s *site) { s.srv.Freeze() }, func(s *site) { s.srv.Thaw() }},
		"black hole": {func(s *site) { s.proxy.Cut() }, func(s *site) { s.proxy.Heal() }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSoleSite(t)
			var seen []time.Duration
			for range 3 { // one that is good will do: what is wrong with the calls is so each time
				// An open breaker, or a spent budget, would end most calls early.
				c := s.client(s.proxy.Client(s), holdfast.Replace(holdfast.LayerBreaker, nil),
					holdfast.WithRetry(backoff.WithBudget(1, hurried*hurries)),
					holdfast.WithAttemptTimeout(holdfast.DefaultAttemptTimeout))
				s.warm(c)
				fault.begin(s)
				o := s.overrun(c)
				fault.end(s)
				t.Logf("calls %v, control %v", p99(o.calls), p99(o.control))
				if o.excess() <= most {
					return
				}
				seen = append(seen, o.excess())
			}
			t.Errorf("calls return %v after their contexts at p99, allowed are %v", seen, most)
		})
	}
}

const (
	hurried = 40 // callers at a time, two for each key
	hurries = 5  // calls of each
)

// warm opens the connections that hurried callers use.
func (s *site) warm(c *holdfast.Client) {
	var wg sync.WaitGroup
	for i := range hurried {
		wg.Go(func() {
			if l, err := c.TryAcquire(s.ctx, fmt.Sprint("warm", i)); err == nil {
				_ = l.Release(s.ctx)
			}
		})
	}
	wg.Wait()
}

// overrun has the callers call with short deadlines.
func (s *site) overrun(c *holdfast.Client) overrun {
	var mu sync.Mutex
	var o overrun
	var wg sync.WaitGroup
	for i := range hurried {
		wg.Go(func() {
			for range hurries {
				ctx, cancel := context.WithTimeout(s.ctx, 50*time.Millisecond+rand.N(350*time.Millisecond))
				deadline, _ := ctx.Deadline()
				control := make(chan time.Duration, 1)
				go func() {
					<-time.After(time.Until(deadline))
					control <- time.Since(deadline)
				}()
				_, err := c.Acquire(ctx, fmt.Sprint("k", i/2))
				late := time.Since(deadline)
				cancel()
				if errors.Is(err, holdfast.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
					continue // refused before its deadline: too many commands without an answer
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					s.Errorf("the deadline did not end the call: %v", err)
				}
				mu.Lock()
				o.calls, o.control = append(o.calls, late), append(o.control, <-control)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return o
}
