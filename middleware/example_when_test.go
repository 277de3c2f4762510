package middleware_test

import (
	"context"
	"fmt"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/middleware"
)

// A layer of one's own is a function; When gives it the payouts and nothing else.
func ExampleWhen() {
	audit := func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			lease, err := next(ctx, req)
			fmt.Println(req.Key, client.OutcomeOf(err))
			return lease, err
		}
	}
	isPayout := func(req client.Request) bool { return req.Class == "payout" }
	c, stop := newClient(client.WithLayer("audit", middleware.When(isPayout, audit)))
	defer stop()
	ctx := context.Background()

	for _, key := range []string{"payout:1", "stock:1", "payout:1"} {
		class := key[:len(key)-2]
		if lease, err := c.TryAcquire(ctx, key, client.WithClass(class)); err == nil {
			defer lease.Release(ctx)
		}
	}
	// Output:
	// payout:1 acquired
	// payout:1 contended
}
