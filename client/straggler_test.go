package client_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// detour sends commands another way once it is switched on.
type detour struct {
	redis.UniversalClient
	other *redis.Client
	on    atomic.Bool
}

func (d *detour) Process(ctx context.Context, cmd redis.Cmder) error {
	if d.on.Load() {
		return d.other.Process(ctx, cmd)
	}
	return d.UniversalClient.Process(ctx, cmd)
}

func (d *detour) Pipeline() redis.Pipeliner {
	if d.on.Load() {
		return d.other.Pipeline()
	}
	return d.UniversalClient.Pipeline()
}

// C078: an attempt that was given up reaches the server after another one of the
// same acquire was granted, and released or run out: it is not granted to nobody.
func TestAStragglerIsNotGrantedAfterTheEnd(t *testing.T) {
	for name, opts := range map[string][]client.AcquireOption{
		"plain": nil, "owner": {client.WithOwner("o")}, "lapsed": {client.WithTTL(2 * time.Second), client.WithoutRenewal()},
	} {
		t.Run(name, func(t *testing.T) {
			srv := redistest.Start(t)
			proxy := redistest.NewProxy(t, srv.Addr())
			way := &detour{UniversalClient: proxy.Client(t), other: srv.Client(t)}
			twice := func(next client.Handler) client.Handler {
				return func(ctx context.Context, req client.Request) (*client.Lease, error) {
					short, cancel := context.WithTimeoutCause(ctx, 50*time.Millisecond, &client.TimeoutError{Limit: "attempt timeout"})
					defer cancel()
					if l, err := next(short, req); err == nil {
						return l, nil
					}
					way.on.Store(true)
					return next(ctx, req)
				}
			}
			c := realClient(t, way, client.WithMiddleware(twice))
			must[*client.Lease](t)(c.Acquire(t.Context(), "warm")).Release(t.Context())
			way.on.Store(false)
			proxy.Cut()
			l := must[*client.Lease](t)(c.Acquire(t.Context(), "k", opts...))
			rdb := srv.Client(t)
			if name == "lapsed" {
				<-l.Context().Done()
				await(t, "the tombstone", func() bool { return len(rdb.Keys(t.Context(), "*withdrawn*").Val()) == 1 })
			} else if err := l.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			proxy.ResetStats()
			proxy.Heal()
			proxy.Await(t, "the straggler", func(s redistest.Stats) bool { return s.Replies["EVALSHA"] >= 1 })
			if n := rdb.Exists(t.Context(), "holdfast:{k}", "holdfast:{k}:members").Val(); n != 0 {
				t.Fatal("the straggler was granted to nobody")
			}
			for _, k := range rdb.Keys(t.Context(), "*").Val() {
				if ttl := rdb.PTTL(t.Context(), k).Val(); ttl < 0 || k != "holdfast:{k}:fence" && k != "holdfast:{warm}:fence" && ttl > time.Minute {
					t.Errorf("%s is left for %v", k, ttl)
				}
			}
		})
	}
}
