package fallback

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-go/holdfast/client"
	"github.com/redis/go-redis/v9"
)

// Only an outage degrades. All else stays what it is, whatever the breaker's state.
func TestDegradesOnlyOnOutage(t *testing.T) {
	held := &client.HeldError{Holder: "other"}
	for name, err := range map[string]error{
		"held":             held,
		"refused":          client.ErrRefused,
		"closed":           client.ErrClosed,
		"invalid":          client.ErrInvalid,
		"a layer's own":    errors.New("quota"),
		"cancelled":        errors.Join(client.ErrUnavailable, context.Canceled),
		"timed out":        errors.Join(client.ErrUnavailable, &client.TimeoutError{Limit: "wait timeout", Wait: true}),
		"pool timed out":   errors.Join(client.ErrUnavailable, redis.ErrPoolTimeout),
		"pool exhausted":   errors.Join(client.ErrUnavailable, redis.ErrPoolExhausted),
		"redis was closed": errors.Join(client.ErrUnavailable, redis.ErrClosed),
	} {
		t.Run(name, func(t *testing.T) {
			b, mw := degradeOnly(t, atOnce)
			for range DefaultMinRequests {
				b.vote(client.Faulty)
			}
			c := overFake(t, mw, func(context.Context, client.Request) (*client.Lease, error) { return nil, err })
			lease, got := c.TryAcquire(context.Background(), "k", client.WithTTL(ttl))
			if lease != nil || !errors.Is(got, err) {
				t.Errorf("got %v, %v", lease, got)
			}
		})
	}
	unavailable := func(context.Context, client.Request) (*client.Lease, error) {
		return nil, errors.Join(client.ErrUnavailable, &client.TimeoutError{Limit: "attempt timeout"})
	}
	t.Run("breaker is closed", func(t *testing.T) {
		_, mw := degradeOnly(t, atOnce)
		for _, acquire := range []func(*client.Client) (*client.Lease, error){
			func(c *client.Client) (*client.Lease, error) { return c.TryAcquire(context.Background(), "k") },
			func(c *client.Client) (*client.Lease, error) { return c.Acquire(context.Background(), "k") },
		} {
			lease, err := acquire(overFake(t, mw, unavailable, shortTTL...))
			wantIs(t, err, client.ErrUnavailable)
			if lease != nil {
				t.Error("got a lease")
			}
		}
	})
	t.Run("caller has left", func(t *testing.T) {
		b, mw := degradeOnly(t, atOnce)
		for range DefaultMinRequests {
			b.vote(client.Faulty)
		}
		spy := func(next client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				lease, err := next(ctx, req)
				if lease != nil {
					t.Error("the layer granted a lease")
				}
				return lease, err
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		c := overFake(t, client.Chain(spy, mw), func(ctx context.Context, req client.Request) (*client.Lease, error) {
			cancel()
			return unavailable(ctx, req)
		}, shortTTL...)
		lease, err := c.TryAcquire(ctx, "k")
		wantIs(t, err, client.ErrUnavailable)
		if lease != nil {
			t.Error("got a lease")
		}
	})
	t.Run("an attempt timed out", func(t *testing.T) {
		b, mw := degradeOnly(t, atOnce)
		for range DefaultMinRequests {
			b.vote(client.Faulty)
		}
		lease, err := overFake(t, mw, unavailable, shortTTL...).TryAcquire(context.Background(), "k")
		if err != nil || !lease.Degraded() {
			t.Fatalf("got %v, %v", lease, err)
		}
		lease.Release(context.Background())
	})
	t.Run("mode is not exclusive", func(t *testing.T) {
		b, mw := degradeOnly(t, atOnce)
		for range DefaultMinRequests {
			b.vote(client.Faulty)
		}
		shared := func(next client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				req.Mode = client.Exclusive + 1
				return next(ctx, req)
			}
		}
		c := overFake(t, client.Chain(shared, mw), func(ctx context.Context, req client.Request) (*client.Lease, error) {
			if req.MaxTTL != maxTTL {
				t.Errorf("MaxTTL is %v", req.MaxTTL)
			}
			return unavailable(ctx, req)
		}, shortTTL...)
		lease, err := c.TryAcquire(context.Background(), "k")
		wantIs(t, err, client.ErrUnavailable)
		if lease != nil {
			t.Error("got a lease")
		}
	})
}

// A breaker that has closed since it refused is no outage any more: who waits asks
// again.
func TestClosedSinceItRefused(t *testing.T) {
	_, mw := degradeOnly(t, atOnce)
	asked := 0
	c := overFake(t, mw, func(_ context.Context, req client.Request) (*client.Lease, error) {
		if asked++; asked == 1 {
			return nil, &client.Error{Op: "acquire", Key: req.Key, Err: &OpenError{}}
		}
		return nil, client.ErrNotAcquired
	}, shortTTL...)
	_, err := c.Acquire(context.Background(), "k")
	wantIs(t, err, client.ErrNotAcquired)
	asked = 0
	_, err = c.TryAcquire(context.Background(), "k")
	wantIs(t, err, client.ErrUnavailable)
	if asked != 1 {
		t.Errorf("TryAcquire asked %d times", asked)
	}
}

func degradeOnly(t *testing.T, p Policies) (*Breaker, client.Middleware) {
	t.Helper()
	b, err := NewBreaker(BreakerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	mw, err := Degrade(b, p)
	if err != nil {
		t.Fatal(err)
	}
	return b, mw
}

// overFake makes a Client of mw around core, which never calls Redis.
func overFake(t *testing.T, mw client.Middleware, core client.Handler, opts ...client.Option) *client.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{})
	t.Cleanup(func() { rdb.Close() })
	fake := func(client.Handler) client.Handler { return core }
	c, err := client.New(rdb, append(opts, client.WithMiddleware(mw, fake))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}
