package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/fallback"
	"github.com/holdfast-go/holdfast/middleware"
	"github.com/redis/go-redis/v9"
)

// A breaker needs its layer and its Attach. Here Redis is gone, and one failure is
// enough for the breaker to open: then Redis is not asked any more.
func ExampleBreaker() {
	breaker, err := fallback.NewBreaker(fallback.BreakerConfig{MinRequests: 1, Logger: quiet})
	if err != nil {
		panic(err)
	}
	rdb := gone()
	defer rdb.Close()
	locks, err := client.New(rdb, client.WithLogger(quiet),
		client.WithPipeline(func(a *client.Assembly) ([]client.Layer, error) {
			return []client.Layer{{Name: "breaker", Middleware: breaker.Middleware()}}, breaker.Attach(a)
		}))
	if err != nil {
		panic(err)
	}
	defer shut(locks)

	_, err = locks.TryAcquire(context.Background(), "stock:42")
	fmt.Println("redis unavailable:", errors.Is(err, client.ErrUnavailable), "breaker:", breaker.State())

	_, err = locks.TryAcquire(context.Background(), "stock:42")
	var open *fallback.OpenError
	fmt.Println("redis was not asked:", errors.As(err, &open), "by", open.Breaker)
	// Output:
	// redis unavailable: true breaker: open
	// redis was not asked: true by redis
}

// One class of locks may go on inside the process while Redis is gone, the others
// fail closed. Here the quarantine is dropped, since a thumbnail that is made twice
// does no harm.
func ExampleDegrade() {
	breaker, err := fallback.NewBreaker(fallback.BreakerConfig{MinRequests: 1, Logger: quiet})
	if err != nil {
		panic(err)
	}
	degrade, err := fallback.Degrade(breaker, fallback.Policies{
		Classes: map[string]fallback.Policy{
			"thumbnail": fallback.Local{MaxTTL: time.Minute, UnsafeSkipQuarantine: true},
		},
	})
	if err != nil {
		panic(err)
	}
	rdb := gone()
	defer rdb.Close()
	locks, err := client.New(rdb, client.WithLogger(quiet),
		client.WithPipeline(func(a *client.Assembly) ([]client.Layer, error) {
			return []client.Layer{
				{Name: "gate", Middleware: middleware.Gate()}, // excludes the others of this process
				{Name: "degrade", Middleware: degrade},
				{Name: "breaker", Middleware: breaker.Middleware()},
			}, breaker.Attach(a)
		}))
	if err != nil {
		panic(err)
	}
	defer shut(locks)

	ctx := context.Background()
	_, err = locks.TryAcquire(ctx, "order:7", client.WithClass("payout"))
	fmt.Println("payout refused:", errors.Is(err, client.ErrUnavailable))

	lease, err := locks.TryAcquire(ctx, "image:7", client.WithClass("thumbnail"))
	if err != nil {
		panic(err)
	}
	defer lease.Release(ctx)
	_, fenced := lease.Fence()
	fmt.Println("thumbnail degraded:", lease.Degraded(), "fence:", fenced)
	// Output:
	// payout refused: true
	// thumbnail degraded: true fence: false
}

func ExampleBreaker_OnTransition() {
	breaker, err := fallback.NewBreaker(fallback.BreakerConfig{MinRequests: 1, Logger: quiet})
	if err != nil {
		panic(err)
	}
	breaker.OnTransition(func(from, to fallback.State) {
		fmt.Println(breaker.Name(), "went from", from, "to", to)
	})
	rdb := gone()
	defer rdb.Close()
	locks, err := client.New(rdb, client.WithLogger(quiet),
		client.WithPipeline(func(a *client.Assembly) ([]client.Layer, error) {
			return []client.Layer{{Name: "breaker", Middleware: breaker.Middleware()}}, breaker.Attach(a)
		}))
	if err != nil {
		panic(err)
	}
	defer shut(locks)

	locks.TryAcquire(context.Background(), "stock:42")
	// Output: redis went from closed to open
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// gone is a client of a Redis that cannot be reached.
func gone() *redis.Client {
	return redis.NewClient(&redis.Options{
		MaxRetries:    -1,
		DialerRetries: 1,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("connection refused")
		},
	})
}

// shut closes locks without waiting for what Redis has not confirmed.
func shut(locks *client.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	locks.Close(ctx)
}
