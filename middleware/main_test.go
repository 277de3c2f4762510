package middleware

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a Client whose pipeline is layers around core, or around the
// Client's own where core is nil. It reaches no Redis, and has gates of its own.
func newClient(t testing.TB, core client.Handler, layers ...client.Middleware) *client.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	instead := func(own client.Handler) client.Handler {
		if core == nil {
			return own
		}
		return core
	}
	c, err := client.New(rdb, client.WithGate(t.Name()), client.WithMiddleware(append(layers, instead)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := rdb.Close(); err != nil {
			t.Errorf("close redis: %v", err)
		}
	})
	return c
}

// grant is a core that grants everything.
func grant(_ context.Context, req client.Request) (*client.Lease, error) {
	return client.NewLocalLease(req)
}

// held is a core that meets another holder.
func held(_ context.Context, req client.Request) (*client.Lease, error) {
	return nil, &client.Error{Op: "acquire", Key: req.Key, Err: &client.HeldError{Holder: "elsewhere"}}
}

// await is a core that waits for a holder elsewhere until ctx ends.
func await(ctx context.Context, req client.Request) (*client.Lease, error) {
	_, err := held(ctx, req)
	<-ctx.Done()
	return nil, client.WaitEnded(ctx, req, err)
}

func release(t testing.TB, l *client.Lease) {
	t.Helper()
	if err := l.Release(context.Background()); err != nil {
		t.Error(err)
	}
}
