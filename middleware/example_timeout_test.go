package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/middleware"
)

// A wait is bounded for all calls, and for one call more tightly. The lease that
// the first one got lives on.
func ExampleTimeout() {
	c, stop := newClient(
		client.WithLayer("timeout", middleware.Timeout(time.Second)),
		client.WithLayer("gate", middleware.Gate()),
	)
	defer stop()
	ctx := context.Background()

	lease, err := c.Acquire(ctx, "invoice:7")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release(ctx)

	_, err = c.Acquire(ctx, "invoice:7", client.WithWaitTimeout(50*time.Millisecond))
	var limit *client.TimeoutError
	if errors.As(err, &limit) {
		fmt.Println(limit.Limit, limit.After)
	}
	fmt.Println("held:", errors.Is(err, client.ErrNotAcquired))
	fmt.Println("deadline:", errors.Is(err, context.DeadlineExceeded))
	fmt.Println("lease:", context.Cause(lease.Context()))
	// Output:
	// wait timeout 50ms
	// held: true
	// deadline: true
	// lease: <nil>
}
