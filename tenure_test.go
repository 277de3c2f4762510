package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
)

type marked struct{}

// A call that releases its lease and fails takes nothing from the lease to which the
// lock had passed on.
func TestAFailedCallHarmsNoHeir(t *testing.T) {
	inBubble(t, func(s *bubble) {
		picky := func(next holdfast.Handler) holdfast.Handler {
			return func(ctx context.Context, req holdfast.Request) (*holdfast.Lease, error) {
				l, err := next(ctx, req)
				if err == nil && ctx.Value(marked{}) != nil {
					time.Sleep(5 * time.Millisecond)
					_ = l.Release(ctx)
					return nil, errors.New("not today")
				}
				return l, err
			}
		}
		c, other := s.process(holdfast.WithMiddleware(picky)), s.process()
		go func() { _, _ = c.Acquire(context.WithValue(s.Context(), marked{}, true), "k") }()
		time.Sleep(time.Millisecond)
		heir, err := c.Acquire(s.Context(), "k")
		if err != nil {
			s.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if _, err := other.TryAcquire(s.Context(), "k"); !errors.Is(err, holdfast.ErrNotAcquired) {
			s.Errorf("beside the heir: %v", err)
		}
		if err := heir.Release(s.Context()); err != nil {
			s.Error(err)
		}
	})
}

// A Downgrade that comes late makes no other lease a shared one.
func TestALateDowngradeSharesNoOtherLease(t *testing.T) {
	inBubble(t, func(s *bubble) {
		c, other := s.process(), s.process()
		first, err := c.Acquire(s.Context(), "k")
		if err != nil {
			s.Fatal(err)
		}
		got := make(chan *holdfast.Lease, 1)
		go func() {
			l, err := c.Acquire(s.Context(), "k")
			if err != nil {
				s.Error(err)
			}
			got <- l
		}()
		synctest.Wait()
		s.proxy.Delay(5 * time.Millisecond)
		ctx, cancel := context.WithTimeout(s.Context(), time.Millisecond)
		defer cancel()
		if err := first.Downgrade(ctx); !errors.Is(err, holdfast.ErrUnavailable) {
			s.Error(err)
		}
		if err := first.Release(s.Context()); err != nil {
			s.Error(err)
		}
		second := <-got
		time.Sleep(50 * time.Millisecond)
		s.proxy.Delay(0)
		if _, err := other.TryAcquire(s.Context(), "k", holdfast.Shared()); !errors.Is(err, holdfast.ErrNotAcquired) {
			s.Errorf("a reader beside an exclusive holder: %v", err)
		}
		if err := second.Release(s.Context()); err != nil {
			s.Error(err)
		}
	})
}

// A nested lease keeps to the bound of its class.
func TestANestedMinimumHoldKeepsToTheBound(t *testing.T) {
	inBubble(t, func(s *bubble) {
		bound := func(next holdfast.Handler) holdfast.Handler {
			return func(ctx context.Context, req holdfast.Request) (*holdfast.Lease, error) {
				req.MaxTTL = time.Minute
				return next(ctx, req)
			}
		}
		c := s.process(holdfast.WithMiddleware(bound))
		outer, err := c.Acquire(s.Context(), "k")
		if err != nil {
			s.Fatal(err)
		}
		if _, err := c.Acquire(outer.Context(), "k", holdfast.Reentrant(), holdfast.WithMinHold(time.Hour)); !errors.Is(err, holdfast.ErrInvalid) {
			s.Error(err)
		}
		if err := outer.Release(s.Context()); err != nil {
			s.Error(err)
		}
	})
}
