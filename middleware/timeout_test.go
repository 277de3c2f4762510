package middleware

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// C067: a wait returns when its time-out passes, whatever the wait is made of.
func TestTimeoutBoundsTheWait(t *testing.T) {
	for name, tc := range map[string]struct {
		layer time.Duration
		opts  []client.AcquireOption
		want  time.Duration // 0: the context's own minute
	}{
		"layer":             {layer: 300 * time.Millisecond, want: 300 * time.Millisecond},
		"request":           {opts: []client.AcquireOption{client.WithWaitTimeout(200 * time.Millisecond)}, want: 200 * time.Millisecond},
		"request first":     {layer: time.Second, opts: []client.AcquireOption{client.WithWaitTimeout(2 * time.Second)}, want: 2 * time.Second},
		"none":              {},
		"negative is none":  {layer: -1},
		"context is sooner": {layer: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, await, Timeout(tc.layer))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				_, err := c.Acquire(ctx, "k", tc.opts...)
				if !errors.Is(err, client.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want that it is held and that the deadline passed", err)
				}
				want := tc.want
				if want == 0 {
					want = time.Minute
				}
				if got := time.Since(start); got != want {
					t.Errorf("returned after %v, want %v", got, want)
				}
				var limit *client.TimeoutError
				if errors.As(err, &limit) != (tc.want > 0) {
					t.Errorf("the error says %v as the limit", limit)
				}
				if limit != nil && (!limit.Wait || limit.After != tc.want) {
					t.Errorf("limit is %+v", limit)
				}
			})
		})
	}
}

func TestTimeoutBoundsTryAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, await, Timeout(300*time.Millisecond))
		start := time.Now()
		_, err := c.TryAcquire(t.Context(), "k")
		if got := time.Since(start); got != 300*time.Millisecond || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %v", err, got)
		}
	})
}

func TestTimeoutNeverEndsALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, grant, Timeout(50*time.Millisecond))
		lease, err := c.Acquire(t.Context(), "k", client.WithTTL(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if err := lease.Context().Err(); err != nil {
			t.Errorf("the lease ended: %v", context.Cause(lease.Context()))
		}
		release(t, lease)
	})
}

func TestTimeoutReturnsALeaseThatComesAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, func(ctx context.Context, req client.Request) (*client.Lease, error) {
			<-ctx.Done()
			return client.NewLocalLease(req)
		}, Timeout(50*time.Millisecond))
		lease, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Context().Err(); err != nil {
			t.Errorf("the lease ended: %v", err)
		}
		release(t, lease)
	})
}
