package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fallback"
)

// simulated is a Redis for an Example.
func simulated() (rdb *redis.Client, stop func()) {
	m, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	rdb = redis.NewClient(&redis.Options{Addr: m.Addr()})
	return rdb, func() {
		_ = rdb.Close()
		m.Close()
	}
}

func reserve(ctx context.Context, _ int) error { return ctx.Err() }

func Example() {
	rdb, stop := simulated()
	defer stop()
	ctx := context.Background()

	sell := func() error {
		locks, err := holdfast.New(rdb) // your own go-redis client
		if err != nil {
			return err
		}
		defer locks.Close(ctx)

		lease, err := locks.Acquire(ctx, "stock:42") // waits until ctx ends
		if err != nil {
			return err
		}
		defer lease.Release(ctx)
		return reserve(lease.Context(), 42) // done when the lease ends
	}
	fmt.Println(sell())
	// Output: <nil>
}

func ExampleClient_do() {
	rdb, stop := simulated()
	defer stop()
	ctx := context.Background()
	locks, _ := holdfast.New(rdb)
	defer locks.Close(ctx)

	err := locks.Do(ctx, "payout:7", func(ctx context.Context, l *holdfast.Lease) error {
		fence, _ := l.Fence()
		fmt.Println("paying, and the ledger refuses a lower fence than", fence > 0)
		return nil
	}, holdfast.WithClass("payout"), holdfast.WithTTL(10*time.Second))
	fmt.Println(err)
	// Output:
	// paying, and the ledger refuses a lower fence than true
	// <nil>
}

func ExampleClient_tryAcquire() {
	rdb, stop := simulated()
	defer stop()
	ctx := context.Background()
	a, _ := holdfast.New(rdb, holdfast.WithIdentity("api-1"))
	b, _ := holdfast.New(rdb, holdfast.WithIdentity("api-2"), holdfast.WithGate("as another process"))
	defer a.Close(ctx)
	defer b.Close(ctx)

	lease, _ := a.TryAcquire(ctx, "report")
	defer lease.Release(ctx)
	_, err := b.TryAcquire(ctx, "report")
	var held *holdfast.HeldError
	fmt.Println(errors.Is(err, holdfast.ErrNotAcquired), errors.As(err, &held), held.Holder)
	// Output: true true api-1
}

func ExampleWithWaitTimeout() {
	rdb, stop := simulated()
	defer stop()
	ctx := context.Background()
	locks, _ := holdfast.New(rdb)
	defer locks.Close(ctx)

	lease, _ := locks.Acquire(ctx, "stock:42")
	defer lease.Release(ctx)
	_, err := locks.Acquire(ctx, "stock:42", holdfast.WithWaitTimeout(20*time.Millisecond))
	fmt.Println(errors.Is(err, holdfast.ErrNotAcquired), errors.Is(err, context.DeadlineExceeded), ctx.Err())
	// Output: true true <nil>
}

func ExampleWithMiddleware() {
	rdb, stop := simulated()
	defer stop()
	ctx := context.Background()

	slow := func(next holdfast.Handler) holdfast.Handler {
		return func(ctx context.Context, req holdfast.Request) (*holdfast.Lease, error) {
			start := time.Now()
			lease, err := next(ctx, req)
			if d := time.Since(start); d > time.Second {
				slog.WarnContext(ctx, "slow lock", "class", req.Class, "waited", d, "error", err)
			}
			return lease, err
		}
	}
	locks, _ := holdfast.New(rdb, holdfast.WithMiddleware(slow))
	defer locks.Close(ctx)

	lease, err := locks.Acquire(ctx, "stock:42")
	fmt.Println(err, lease.Release(ctx))
	// Output: <nil> <nil>
}

func ExampleWithFallback() {
	server, _ := miniredis.Run()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	ctx := context.Background()
	locks, err := holdfast.New(rdb,
		holdfast.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
		holdfast.WithTTL(time.Second),
		holdfast.WithFallback(fallback.Policies{Classes: map[string]fallback.Policy{
			"thumbnails": fallback.Local{MaxTTL: time.Second}, // doing it twice is waste, not harm
		}}))
	if err != nil {
		panic(err)
	}
	defer locks.Close(ctx)
	server.Close() // Redis goes down

	_, err = locks.Acquire(ctx, "order:7") // fails closed, like every class that is not named
	fmt.Println(errors.Is(err, holdfast.ErrUnavailable))

	for err = errors.New("none yet"); err != nil; {
		var lease *holdfast.Lease
		if lease, err = locks.Acquire(ctx, "cat.png", holdfast.WithClass("thumbnails")); err == nil {
			_, fenced := lease.Fence()
			fmt.Println(lease.Degraded(), fenced)
			_ = lease.Release(ctx)
		}
	}
	// Output:
	// true
	// true false
}

func ExampleReplace() {
	rdb, stop := simulated()
	defer stop()
	locks, _ := holdfast.New(rdb, holdfast.Replace(holdfast.LayerRetry, nil))
	defer locks.Close(context.Background())
	for _, layer := range locks.Pipeline() {
		fmt.Println(layer)
	}
	// Output:
	// telemetry
	// log
	// timeout
	// gate
	// degrade
	// breaker
	// attempts
	// attempt timeout
	// redis
}

func Example_together() {
	rdb, stop := simulated()
	defer stop()
	locks, err := holdfast.New(rdb)
	if err != nil {
		panic(err)
	}
	ctx, done := context.WithCancel(context.Background())
	defer locks.Close(ctx)
	defer done()
	lease, err := locks.Acquire(ctx, "report")
	if err != nil {
		panic(err)
	}

	locks.Acquire(ctx, "config", holdfast.Shared())           // readers together, writers alone, neither starves
	locks.Acquire(ctx, "export", holdfast.Slots(3))           // at most three at a time; a dead one's slot expires
	locks.AcquireAll(ctx, []string{"account:1", "account:2"}) // all or none, one lease, no deadlock
	lease.Downgrade(ctx)                                      // from writer to reader, without letting go
	locks.Acquire(ctx, "job", holdfast.Barging())             // over those who wait, where the holders allow it

	for _, key := range []string{"config", "export", "account:2", "report", "job"} {
		info, err := locks.Inspect(ctx, key)
		fmt.Println(key, info.Mode, info.Held, err)
	}
	// Output:
	// config shared true <nil>
	// export slots true <nil>
	// account:2 exclusive true <nil>
	// report shared true <nil>
	// job exclusive true <nil>
}
