package holdfasttest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// closeTimeout is how long a test may take to release what it holds once it has
// ended.
const closeTimeout = 2 * time.Second

var clients atomic.Uint64

// New returns a Client on a simulated Redis of its own, with the recommended
// pipeline as changed by opts. It shares neither locks nor a gate with any other
// Client, so tests may run in parallel.
//
// When the test ends its Cleanup closes the Client, and fails the test if a lease
// was not released within 2 s: in production the lock would stay until its TTL had
// passed.
func New(tb testing.TB, opts ...client.Option) *client.Client {
	tb.Helper()
	rdb := NewRedis(tb)
	gate := client.WithGate(fmt.Sprintf("%s#%d", tb.Name(), clients.Add(1)))
	c, err := holdfast.New(rdb, append([]client.Option{gate}, opts...)...)
	if err != nil {
		tb.Fatalf("holdfasttest: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			tb.Errorf("holdfasttest: release every lease before the test ends: %v", err)
		}
	})
	return c
}

// NewRedis returns a redis client on a new simulated Redis, for several Clients
// that contend for the same locks. To play several processes give each Client a
// gate of its own, and close it before the test ends:
//
//	rdb := holdfasttest.NewRedis(t)
//	a, err := holdfast.New(rdb, client.WithGate("a"))
//	b, err := holdfast.New(rdb, client.WithGate("b"))
//
// The Cleanup of tb closes the redis client and the simulation.
func NewRedis(tb testing.TB) redis.UniversalClient {
	tb.Helper()
	return redistest.NewSim(tb).Client()
}
