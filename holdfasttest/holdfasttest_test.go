package holdfasttest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everywhere runs fn outside of a bubble and inside.
func everywhere(t *testing.T, fn func(t *testing.T)) {
	t.Run("plain", fn)
	t.Run("synctest", func(t *testing.T) { synctest.Test(t, fn) })
}

func TestNewLocks(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		c := New(t)
		lease, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.TryAcquire(t.Context(), "k"); !errors.Is(err, client.ErrNotAcquired) {
			t.Errorf("second acquire: %v, want ErrNotAcquired", err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestNewSharesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		var scopes []string
		note := client.WithMiddleware(func(next client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				scopes = append(scopes, req.Scope())
				return next(ctx, req)
			}
		})
		for range 2 {
			lease, err := New(t, note).TryAcquire(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			defer lease.Release(t.Context())
		}
		if scopes[0] == scopes[1] || !strings.Contains(scopes[0], t.Name()) {
			t.Errorf("scopes %q, want two, each with a gate named after the test", scopes)
		}
	})
}

func TestNewTakesOptions(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		if c := New(t, client.WithIdentity("me")); c.Identity() != "me" {
			t.Errorf("identity %q", c.Identity())
		}
		r := record(t, func(tb testing.TB) { New(tb, client.WithIdentity("")) })
		if !strings.Contains(r.fatals, "identity") {
			t.Errorf("a bad option was reported as %q", r.fatals)
		}
	})
}

func TestCleanupClosesTheClient(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		var c *client.Client
		r := record(t, func(tb testing.TB) { c = New(tb) })
		r.cleanUp()
		if r.errors != "" {
			t.Error(r.errors)
		}
		if _, err := c.Acquire(t.Context(), "k"); !errors.Is(err, client.ErrClosed) {
			t.Errorf("Acquire after the test: %v, want ErrClosed", err)
		}
	})
}

func TestCleanupFailsATestThatHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lease *client.Lease
		r := record(t, func(tb testing.TB) {
			var err error
			if lease, err = New(tb).Acquire(context.Background(), "k"); err != nil {
				t.Fatal(err)
			}
		})
		r.cleanUp()
		if !strings.Contains(r.errors, "not released") {
			t.Errorf("a lease that was not released was reported as %q", r.errors)
		}
		if cause := context.Cause(lease.Context()); !errors.Is(cause, client.ErrClosed) {
			t.Errorf("the lease ended with %v, want ErrClosed", cause)
		}
	})
}

func TestTimePassesWithTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(t)
		renewed, err := c.Acquire(t.Context(), "renewed")
		if err != nil {
			t.Fatal(err)
		}
		defer renewed.Release(t.Context())
		if _, err := c.Acquire(t.Context(), "left", client.WithTTL(time.Minute), client.WithoutRenewal()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute - time.Second)
		if _, err := c.TryAcquire(t.Context(), "left"); !errors.Is(err, client.ErrNotAcquired) {
			t.Errorf("before the TTL: %v, want ErrNotAcquired", err)
		}
		time.Sleep(time.Hour)
		if err := context.Cause(renewed.Context()); err != nil {
			t.Errorf("the lease that is renewed ended: %v", err)
		}
		lease, err := c.TryAcquire(t.Context(), "left")
		if err != nil {
			t.Fatalf("after the TTL: %v", err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestNewRedisIsShared(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		rdb := NewRedis(t)
		var leases []*client.Lease
		for _, gate := range []string{"a", "b"} {
			c, err := client.New(rdb, client.WithGate(gate))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(t.Context())
			lease, err := c.TryAcquire(t.Context(), "k")
			if err == nil {
				leases = append(leases, lease)
				defer lease.Release(t.Context())
			}
		}
		if len(leases) != 1 {
			t.Errorf("%d of 2 Clients hold the lock", len(leases))
		}
	})
}

// recorder is a TB that notes what is reported, and cleans up when told.
type recorder struct {
	testing.TB
	errors, fatals string
	cleanups       []func()
}

func (r *recorder) Helper()           {}
func (r *recorder) Cleanup(fn func()) { r.cleanups = append(r.cleanups, fn) }

func (r *recorder) Errorf(format string, args ...any) { r.errors += fmt.Sprintf(format, args...) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatals += fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) cleanUp() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	r.cleanups = nil
}

// record runs fn as a test of its own would run.
func record(t *testing.T, fn func(tb testing.TB)) *recorder {
	t.Helper()
	r := &recorder{TB: t}
	t.Cleanup(r.cleanUp)
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(r)
	}()
	<-done
	return r
}
