package backoff

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// C121: a pause ends with the context, however long it would be.
func TestPausesEndWithTheContext(t *testing.T) {
	for name, tc := range map[string]struct {
		last error
		opt  Option
	}{
		"held":        {heldFor(0), WithContention(Exponential(5*time.Second, 5*time.Second))},
		"unavailable": {client.ErrUnavailable, WithInfrastructure(Exponential(5*time.Second, 5*time.Second))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := attempts{ends: []error{tc.last}}
				c := newClient(t, mustRetry(t, tc.opt, WithBudget(1, 10)), a.core)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				start := time.Now()
				_, err := c.Acquire(ctx, "k")
				if got := time.Since(start); got != time.Second {
					t.Errorf("returned %v after the cancel", got-time.Second)
				}
				if !errors.Is(err, context.Canceled) || client.ErrorType(err) != client.ErrorType(tc.last) {
					t.Errorf("got %v, want %v and context.Canceled", err, tc.last)
				}
				if len(a.began) != 1 {
					t.Errorf("%d attempts, want 1", len(a.began))
				}
			})
		})
	}
}

// The error of a call whose context ended during an attempt.
func TestTheLastOutcomeIsNeverLost(t *testing.T) {
	custom := errors.New("shutting down")
	held, down := heldFor(0), error(client.ErrUnavailable)
	raw := func(ctx context.Context, _ client.Request) error { return ctx.Err() }
	cause := func(ctx context.Context, _ client.Request) error { return context.Cause(ctx) }
	wrapped := func(ctx context.Context, _ client.Request) error {
		return errors.Join(errors.New("limiter"), ctx.Err())
	}
	joined := func(last error) func(context.Context, client.Request) error {
		return func(ctx context.Context, req client.Request) error { return client.WaitEnded(ctx, req, last) }
	}
	only := func(err error) func(context.Context, client.Request) error {
		return func(context.Context, client.Request) error { return err }
	}
	for name, tc := range map[string]struct {
		before []error
		cut    func(context.Context, client.Request) error // the attempt during which the context ends
		want   error
		alone  bool // without the context's error
	}{
		"held, then cut":               {[]error{held}, raw, client.ErrNotAcquired, false},
		"held, then cut, by cause":     {[]error{held}, cause, client.ErrNotAcquired, false},
		"held, then cut in a layer":    {[]error{held}, wrapped, client.ErrNotAcquired, false},
		"down, then cut":               {[]error{down}, raw, client.ErrUnavailable, false},
		"held, down, then cut":         {[]error{held, down}, raw, client.ErrUnavailable, false},
		"down, held, then cut":         {[]error{down, held}, raw, client.ErrNotAcquired, false},
		"cut at once":                  {nil, raw, client.ErrUnavailable, false},
		"the core says held":           {nil, joined(held), client.ErrNotAcquired, false},
		"the core says down":           {[]error{held}, joined(down), client.ErrUnavailable, false},
		"held while it ended":          {nil, only(held), client.ErrNotAcquired, false},
		"down while it ended":          {nil, only(down), client.ErrUnavailable, false},
		"refused while it ended":       {[]error{held}, only(client.ErrRefused), client.ErrRefused, true},
		"broken while it ended":        {[]error{held}, only(custom), custom, true},
		"breaker open while it ended":  {[]error{held}, only(&openError{open: true}), client.ErrUnavailable, true},
		"closed, as the core tells it": {[]error{held}, only(client.ErrClosed), client.ErrClosed, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				a := attempts{ends: append(tc.before, nil)}
				c := newClient(t, mustRetry(t), func(ctx context.Context, req client.Request) (*client.Lease, error) {
					if len(a.began) < len(tc.before) {
						return a.core(ctx, req)
					}
					cancel(errors.New("stop"))
					<-ctx.Done()
					return nil, tc.cut(ctx, req)
				})
				_, err := c.Acquire(ctx, "k")
				if !errors.Is(err, tc.want) {
					t.Errorf("got %v, want %v", err, tc.want)
				}
				if errors.Is(err, context.Canceled) == tc.alone {
					t.Errorf("got %v, want context.Canceled in it %t", err, !tc.alone)
				}
				for _, word := range []string{"stop", "canceled", "not acquired", "unavailable"} {
					if n := strings.Count(err.Error(), word); n > 1 {
						t.Errorf("%q says %q %d times", err, word, n)
					}
				}
			})
		})
	}
}

func TestCloseEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{ends: []error{heldFor(0)}}
		c := newClient(t, mustRetry(t, WithContention(Constant(time.Hour))), a.core)
		done := make(chan error)
		go func() {
			_, err := c.Acquire(t.Context(), "k")
			done <- err
		}()
		synctest.Wait()
		go func() { _ = c.Close(context.Background()) }()
		if err := <-done; !errors.Is(err, client.ErrClosed) || errors.Is(err, client.ErrNotAcquired) {
			t.Errorf("got %v, want ErrClosed alone", err)
		}
	})
}

func TestAPauseThatIsOverDoesNotHideTheEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // both are due, and a select has no order
		if pause(ctx, 0, nil) {
			t.Fatal("another attempt would begin after the context had ended")
		}
	}
}
