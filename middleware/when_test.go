package middleware

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/client"
)

func TestWhenDecidesPerCallAndFoldsOnce(t *testing.T) {
	folded, through := 0, 0
	counting := func(next client.Handler) client.Handler {
		folded++
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			through++
			return next(ctx, req)
		}
	}
	c := newClient(t, held, When(func(r client.Request) bool { return r.Class == "stock" }, counting))
	for _, class := range []string{"stock", "payout", "stock"} {
		if _, err := c.TryAcquire(t.Context(), "k", client.WithClass(class)); !errors.Is(err, client.ErrNotAcquired) {
			t.Error(err)
		}
	}
	if folded != 1 || through != 2 {
		t.Errorf("folded %d times, went through %d times, want 1 and 2", folded, through)
	}
}

func TestWhenOfNothingIsRefused(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	always := func(client.Request) bool { return true }
	for name, mw := range map[string]client.Middleware{
		"no condition": When(nil, Gate()),
		"no layer":     When(always, nil),
	} {
		if _, err := client.New(rdb, client.WithMiddleware(mw)); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}
