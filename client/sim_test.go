package client_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/alicebob/miniredis/v2"
	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// world is a simulated Redis inside a synctest bubble, where a minute is free.
type world struct {
	t   *testing.T
	m   *miniredis.Miniredis
	rdb *redis.Client
	ctx context.Context
}

func simulate(t *testing.T, fn func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim := redistest.NewSim(t)
		rdb := sim.Client()
		w := &world{t, sim.Miniredis(), rdb, t.Context()}
		rdb.Ping(w.ctx) // miniredis counts no commands before the first connection
		fn(w)
	})
}

func (w *world) client(opts ...client.Option) *client.Client {
	w.t.Helper()
	quiet := client.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	c, err := client.New(w.rdb, append([]client.Option{quiet}, opts...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(ctx)
		synctest.Wait()
	})
	return c
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
