package holdfast_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// nester returns a Client on a simulated Redis whose acquires nest.
func nester(t *testing.T) *holdfast.Client {
	t.Helper()
	c, err := holdfast.New(redistest.NewSim(t).Client(), holdfast.Reentrant(), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func nest(t *testing.T, c *holdfast.Client, ctx context.Context) *holdfast.Lease {
	t.Helper()
	l, err := c.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type tag struct{}

// A loop of nested acquires inside one long lease leaves nothing behind, whatever
// contexts it makes of the lease's.
func TestNestedLeasesLeaveNothingBehind(t *testing.T) {
	c := nester(t)
	outer := nest(t, c, t.Context())
	long, cancel := context.WithCancel(outer.Context())
	defer cancel()
	aside, cancelAside := context.WithCancel(context.WithoutCancel(outer.Context()))
	defer cancelAside()
	middle := nest(t, c, long)
	for name, once := range map[string]func(i int) (context.Context, context.CancelFunc){
		"the lease's": func(int) (context.Context, context.CancelFunc) { return outer.Context(), func() {} },
		"with a value": func(i int) (context.Context, context.CancelFunc) {
			return context.WithValue(outer.Context(), tag{}, i), func() {}
		},
		"one that lives on": func(int) (context.Context, context.CancelFunc) { return long, func() {} },
		"a value in one":    func(i int) (context.Context, context.CancelFunc) { return context.WithValue(long, tag{}, i), func() {} },
		"of a nested lease": func(int) (context.Context, context.CancelFunc) { return middle.Context(), func() {} },
		"with a time-out":   func(int) (context.Context, context.CancelFunc) { return context.WithTimeout(long, time.Hour) },
		"without cancel":    func(int) (context.Context, context.CancelFunc) { return context.WithoutCancel(long), func() {} },
		"without cancel, its own": func(int) (context.Context, context.CancelFunc) {
			return context.WithCancel(context.WithoutCancel(long))
		},
		"without cancel, one beside": func(i int) (context.Context, context.CancelFunc) {
			return context.WithValue(aside, tag{}, i), func() {}
		},
	} {
		use := func(n int) {
			for i := range n {
				ctx, cancel := once(i)
				l := nest(t, c, ctx)
				if err := l.Release(ctx); err != nil {
					t.Fatal(err)
				}
				cancel()
			}
		}
		use(100)
		goroutines, before := runtime.NumGoroutine(), heap()
		use(10_000)
		// What a context leaves when it ends is cleared in goroutines of its own.
		grown, left := int64(0), 0
		for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			grown, left = heap()-before, runtime.NumGoroutine()-goroutines
			// A context that is kept takes 100 bytes and more; some goroutines come and go.
			if grown <= 512<<10 && left <= 100 || time.Since(start) > soon {
				break
			}
		}
		if grown > 512<<10 || left > 100 {
			t.Errorf("%s: %d bytes and %d goroutines more after 10,000 nested leases", name, grown, left)
		}
	}
	if err := outer.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := middle.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The context of a nested lease has the values and the end of the one it was given,
// and ends with the lock: at the last release, not at its own.
func TestContextOfANestedLease(t *testing.T) {
	stop := errors.New("stop")
	synctest.Test(t, func(t *testing.T) {
		c := nester(t)
		outer := nest(t, c, t.Context())
		long, cancelLong := context.WithCancelCause(outer.Context())
		aside, cancelAside := context.WithCancelCause(context.WithoutCancel(outer.Context()))
		defer cancelAside(nil)
		short, cancelShort := context.WithTimeout(outer.Context(), time.Second)
		defer cancelShort()
		all := map[string]context.Context{
			"the lease's": outer.Context(), "long": long, "aside": aside, "short": short, "without cancel": context.WithoutCancel(long),
		}
		leases := map[string]*holdfast.Lease{}
		for name, ctx := range all {
			a, b := nest(t, c, context.WithValue(ctx, tag{}, "a")), nest(t, c, context.WithValue(ctx, tag{}, "b"))
			if a.Context().Value(tag{}) != "a" || b.Context().Value(tag{}) != "b" {
				t.Errorf("%s: values %v, %v", name, a.Context().Value(tag{}), b.Context().Value(tag{}))
			}
			at, bounded := a.Context().Deadline()
			if want, ok := ctx.Deadline(); at != want || bounded != ok {
				t.Errorf("%s: deadline %v", name, at)
			}
			inner := nest(t, c, a.Context())
			for _, l := range []*holdfast.Lease{inner, b, a} {
				if err := l.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := l.Context().Err(); err != nil {
					t.Errorf("%s: ended at its own release: %v", name, context.Cause(l.Context()))
				}
			}
			leases[name], leases["inside of "+name] = a, inner
		}
		ended := func(lease string, err, cause error) {
			t.Helper()
			synctest.Wait()
			for _, name := range []string{lease, "inside of " + lease} {
				ctx := leases[name].Context()
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				for _, ctx := range []context.Context{ctx, child} {
					if ctx.Err() != err || !errors.Is(context.Cause(ctx), cause) {
						t.Errorf("%s: %v, cause %v; want %v, cause %v", name, ctx.Err(), context.Cause(ctx), err, cause)
					}
					select {
					case <-ctx.Done():
					default:
						if err != nil {
							t.Errorf("%s: it is not done", name)
						}
					}
				}
			}
		}
		time.Sleep(2 * time.Second)
		ended("short", context.DeadlineExceeded, context.DeadlineExceeded)
		cancelLong(stop)
		ended("long", context.Canceled, stop)
		for _, name := range []string{"the lease's", "aside", "without cancel"} {
			ended(name, nil, nil)
		}
		if err := outer.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"the lease's", "aside", "without cancel"} {
			ended(name, context.Canceled, holdfast.ErrReleased)
		}
	})
}
