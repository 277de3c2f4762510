package backoff

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/client"
)

// newRedis returns a Client on a simulated Redis that refuses the first
// connections.
func newRedis(t *testing.T, refusals int32, layer client.Middleware) (*client.Client, *miniredis.Miniredis) {
	t.Helper()
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	var dials atomic.Int32
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			if dials.Add(1) <= refusals {
				return nil, errors.New("connection refused")
			}
			return server.Dial()
		},
	})
	c, err := client.New(rdb, client.WithMiddleware(layer))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		_ = rdb.Close()
		server.Close()
	})
	return c, server
}

// C024: with one node, an error of the first connections does not end the call.
func TestRefusedConnectionsAreOutlasted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newRedis(t, 2, mustRetry(t))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		lease, err := c.Acquire(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(ctx); err != nil {
			t.Error(err)
		}
	})
}

// A holder that died keeps nobody waiting for longer than its TTL.
func TestAnExpiredHolderIsFollowedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, server := newRedis(t, 0, mustRetry(t, WithContention(Constant(time.Hour))))
		if _, err := c.Acquire(t.Context(), "k", client.WithTTL(1999*ms), client.WithoutRenewal()); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		lease, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got > 2050*ms {
			t.Errorf("got in after %v, want a little after the 1.999s of the one before", got)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if server.Exists("holdfast:{k}") {
			t.Error("the key is left")
		}
	})
}

// The wait ends in the middle of an attempt: what the one before told is kept.
func TestAnAttemptCutByTheContextKeepsTheLastOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(next client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				if req.Attempt > 2 {
					<-ctx.Done()
				}
				return next(ctx, req)
			}
		}
		c, _ := newRedis(t, 0, client.Chain(mustRetry(t), slow))
		holder, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = c.Acquire(ctx, "k")
		if !errors.Is(err, client.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that it is held and the deadline", err)
		}
		if err := holder.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
