package middleware

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/client"
)

// newBlackHole returns a Client whose server accepts everything and answers
// nothing.
func newBlackHole(t *testing.T, layers ...client.Middleware) *client.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", MaxRetries: -1, ReadTimeout: 700 * time.Millisecond, WriteTimeout: 700 * time.Millisecond,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				defer far.Close()
				for buf := make([]byte, 4096); ; {
					if _, err := far.Read(buf); err != nil {
						return
					}
				}
			}()
			return near, nil
		},
	})
	c, err := client.New(rdb, client.WithCommandTimeout(time.Second), client.WithMiddleware(layers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_ = c.Close(ctx) // cannot confirm its clean-up here
		_ = rdb.Close()
	})
	return c
}

func TestAttemptTimeoutIsAFailureOfRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBlackHole(t, AttemptTimeout(250*time.Millisecond))
		start := time.Now()
		_, err := c.Acquire(t.Context(), "k")
		if got := time.Since(start); got != 250*time.Millisecond {
			t.Errorf("returned after %v", got)
		}
		if !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			t.Errorf("%v matches the error of a context, and the caller's lives", err)
		}
		var limit *client.TimeoutError
		if !errors.As(err, &limit) || limit.Wait || limit.After != 250*time.Millisecond {
			t.Errorf("limit is %+v", limit)
		}
	})
}

func TestAttemptTimeoutLeavesTheCallersContextVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBlackHole(t, AttemptTimeout(250*time.Millisecond))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := c.Acquire(ctx, "k")
		if got := time.Since(start); got != 100*time.Millisecond {
			t.Errorf("returned after %v", got)
		}
		if !errors.Is(err, client.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want ErrUnavailable and the caller's deadline", err)
		}
	})
}

// A layer of the attempt that says no more than that its context ended.
func TestAttemptTimeoutIsNoEndOfTheCallersContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, func(ctx context.Context, _ client.Request) (*client.Lease, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, AttemptTimeout(250*time.Millisecond))
		_, err := c.Acquire(t.Context(), "k")
		var limit *client.TimeoutError
		if !errors.Is(err, client.ErrUnavailable) || !errors.As(err, &limit) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want ErrUnavailable, the limit and no error of a context", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := c.Acquire(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &limit) {
			t.Errorf("got %v, want the caller's deadline alone", err)
		}
	})
}

func TestAttemptTimeoutBoundsEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lasted []time.Duration
		twice := func(next client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				_, _ = next(ctx, req)
				return next(ctx, req)
			}
		}
		c := newClient(t, func(ctx context.Context, req client.Request) (*client.Lease, error) {
			start := time.Now()
			<-ctx.Done()
			lasted = append(lasted, time.Since(start))
			return nil, client.WaitEnded(ctx, req, nil)
		}, twice, AttemptTimeout(40*time.Millisecond))
		_, _ = c.Acquire(t.Context(), "k")
		if len(lasted) != 2 || lasted[0] != 40*time.Millisecond || lasted[1] != 40*time.Millisecond {
			t.Errorf("attempts lasted %v", lasted)
		}
	})
}

func TestAttemptTimeoutOfZeroIsNoLayer(t *testing.T) {
	c := newClient(t, func(ctx context.Context, req client.Request) (*client.Lease, error) {
		if deadline, ok := ctx.Deadline(); ok {
			t.Errorf("the attempt has the deadline %v", deadline)
		}
		return held(ctx, req)
	}, AttemptTimeout(0))
	if _, err := c.TryAcquire(t.Context(), "k"); !errors.Is(err, client.ErrNotAcquired) {
		t.Error(err)
	}
}
