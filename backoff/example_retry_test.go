package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/backoff"
	"github.com/holdfast-go/holdfast/client"
)

// The second one waits while the first holds the lock, and gets it soon after.
func ExampleRetry() {
	retry, err := backoff.Retry()
	if err != nil {
		fmt.Println(err)
		return
	}
	c, _, stop := newClient(client.WithLayer("retry", retry))
	defer stop()
	ctx := context.Background()

	first, err := c.Acquire(ctx, "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	time.AfterFunc(50*time.Millisecond, func() {
		fmt.Println("the first releases")
		_ = first.Release(ctx)
	})
	second, err := c.Acquire(ctx, "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the second is in")
	_ = second.Release(ctx)
	// Output:
	// the first releases
	// the second is in
}

// A wait that ends while the lock is held says so, and why it ended.
func ExampleRetry_deadline() {
	retry, err := backoff.Retry()
	if err != nil {
		fmt.Println(err)
		return
	}
	c, _, stop := newClient(client.WithLayer("retry", retry))
	defer stop()

	lease, err := c.Acquire(context.Background(), "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release(context.Background())

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = c.Acquire(ctx, "report")
	fmt.Println("held:", errors.Is(err, client.ErrNotAcquired))
	fmt.Println("deadline:", errors.Is(err, context.DeadlineExceeded))
	// Output:
	// held: true
	// deadline: true
}

// While Redis loads its data each call makes three attempts, until the budget of
// all calls is spent; from then on most make one.
func ExampleWithBudget() {
	retry, err := backoff.Retry(
		backoff.WithInfrastructure(backoff.Limit(backoff.Exponential(2*time.Millisecond, 20*time.Millisecond), 2)),
		backoff.WithBudget(0.1, 4),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	report := func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			lease, err := next(ctx, req)
			fmt.Println(client.ErrorType(err), req.Call().Attempts())
			return lease, err
		}
	}
	c, server, stop := newClient(client.WithLayer("report", report), client.WithLayer("retry", retry))
	defer stop()

	server.SetError("LOADING Redis is loading the dataset in memory")
	for range 4 {
		_, _ = c.TryAcquire(context.Background(), "report")
	}
	server.SetError("")
	// Output:
	// unavailable 3
	// unavailable 3
	// unavailable 1
	// unavailable 1
}
