package backoff

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

func TestUnavailabilityGetsFewTries(t *testing.T) {
	for name, acquire := range map[string]func(*client.Client, context.Context, string, ...client.AcquireOption) (*client.Lease, error){
		"acquire": (*client.Client).Acquire, "try": (*client.Client).TryAcquire,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := attempts{ends: []error{client.ErrUnavailable}}
				c := newClient(t, mustRetry(t), a.core)
				_, err := acquire(c, t.Context(), "k")
				if !errors.Is(err, client.ErrUnavailable) || len(a.began) != 3 {
					t.Errorf("%v after %d attempts, want unavailable after 3", err, len(a.began))
				}
				for i, gap := range a.gaps() {
					whole := 50 * ms << i
					if gap < whole/2-time.Microsecond || gap > whole {
						t.Errorf("pause %d is %v, want %v to %v", i, gap, whole/2, whole)
					}
				}
			})
		})
	}
}

// C024: a failure that passes ends neither call.
func TestAPassingFailureIsOutlasted(t *testing.T) {
	for name, acquire := range map[string]func(*client.Client, context.Context, string, ...client.AcquireOption) (*client.Lease, error){
		"acquire": (*client.Client).Acquire, "try": (*client.Client).TryAcquire,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := attempts{ends: []error{client.ErrUnavailable, client.ErrUnavailable, nil}}
				c := newClient(t, mustRetry(t), a.core)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				lease, err := acquire(c, ctx, "k")
				if err != nil {
					t.Fatal(err)
				}
				_ = lease.Release(ctx)
			})
		})
	}
}

func TestAnAnswerResetsTheCountOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down, held := client.ErrUnavailable, heldFor(0)
		a := attempts{ends: []error{down, down, held, down, down, held, held, down, down, down, nil}}
		c := newClient(t, mustRetry(t), a.core)
		_, err := c.Acquire(t.Context(), "k")
		if !errors.Is(err, client.ErrUnavailable) || len(a.began) != 10 {
			t.Errorf("%v after %d attempts, want unavailable after 10", err, len(a.began))
		}
		if gap := a.gaps()[3]; gap > 50*ms {
			t.Errorf("the pauses go on at %v after an answer", gap)
		}
	})
}

func TestTheBudgetKeepsAnOutageFromGrowing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{ends: []error{client.ErrUnavailable}}
		suppressed := 0
		watch := func(next client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				lease, err := next(ctx, req)
				suppressed += req.Call().RetriesSuppressed()
				return lease, err
			}
		}
		c := newClient(t, client.Chain(watch, mustRetry(t, WithBudget(0.1, 10))), a.core)
		const calls = 1000
		for range calls {
			if _, err := c.Acquire(t.Context(), "k"); !errors.Is(err, client.ErrUnavailable) {
				t.Fatal(err)
			}
		}
		retries := len(a.began) - calls
		if retries < 105 || retries > 110 {
			t.Errorf("%d retries over %d calls, want ten at first and then one in ten calls", retries, calls)
		}
		if suppressed < calls-retries || suppressed > calls {
			t.Errorf("%d retries were counted as suppressed", suppressed)
		}
	})
}

func TestASpentPolicyIsNoSuppressedRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{ends: []error{client.ErrUnavailable}}
		layer := mustRetry(t, WithInfrastructure(Limit(Constant(ms), 0)), WithBudget(0, 1))
		c := newClient(t, func(next client.Handler) client.Handler {
			retrying := layer(next)
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				lease, err := retrying(ctx, req)
				if n := req.Call().RetriesSuppressed(); n != 0 {
					t.Errorf("%d retries suppressed, want none", n)
				}
				return lease, err
			}
		}, a.core)
		for range 3 {
			_, _ = c.Acquire(t.Context(), "k")
		}
		if len(a.began) != 3 {
			t.Errorf("%d attempts, want 3", len(a.began))
		}
	})
}

func TestContentionCostsNoBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := make([]error, 0, 102)
		for range 100 {
			ends = append(ends, heldFor(0))
		}
		a := attempts{ends: append(ends, client.ErrUnavailable, nil)}
		c := newClient(t, mustRetry(t, WithBudget(0, 1)), a.core)
		lease, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		_ = lease.Release(t.Context())
	})
}

// openError is that of a breaker which lets nothing through.
type openError struct{ open bool }

func (e *openError) Error() string      { return "holdfast: breaker is open" }
func (e *openError) Unwrap() error      { return client.ErrUnavailable }
func (e *openError) ShortCircuit() bool { return e.open }

// C112: nobody hammers on an open breaker, nor waits for it.
func TestAnOpenBreakerEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{ends: []error{client.ErrUnavailable, fmt.Errorf("shard 1: %w", &openError{open: true})}}
		c := newClient(t, mustRetry(t, WithInfrastructure(Constant(30*ms))), a.core)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		_, err := c.Acquire(ctx, "k")
		var open *openError
		if !errors.As(err, &open) || !errors.Is(err, client.ErrUnavailable) || len(a.began) != 2 {
			t.Errorf("%v after %d attempts, want the breaker's error after 2", err, len(a.began))
		}
		if got := time.Since(start); got != 30*ms {
			t.Errorf("returned after %v, want at once after the one pause", got)
		}
	})
}

func TestABreakerThatLetItThroughEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{ends: []error{&openError{}}}
		c := newClient(t, mustRetry(t), a.core)
		_, _ = c.Acquire(t.Context(), "k")
		if len(a.began) != 3 {
			t.Errorf("%d attempts, want 3", len(a.began))
		}
	})
}

func TestOtherErrorsAreReturnedAtOnce(t *testing.T) {
	for _, want := range []error{
		client.ErrRefused, client.ErrInvalid, client.ErrClosed, errors.New("broken"), context.DeadlineExceeded,
	} {
		t.Run(want.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := attempts{ends: []error{want}}
				c := newClient(t, mustRetry(t), a.core)
				start := time.Now()
				_, err := c.Acquire(t.Context(), "k")
				if !errors.Is(err, want) || len(a.began) != 1 || time.Since(start) != 0 {
					t.Errorf("%v after %d attempts and %v", err, len(a.began), time.Since(start))
				}
			})
		})
	}
}
