package fallback

import (
	"context"
	"log/slog"
	"testing"

	"github.com/holdfast-go/holdfast/client"
	"github.com/redis/go-redis/v9"
)

// C112: what an open breaker costs those it refuses.
func BenchmarkRefused(b *testing.B) {
	benchmark(b, func(br *Breaker) {
		for range DefaultMinRequests {
			br.vote(client.Faulty)
		}
	})
}

// What a closed breaker costs each attempt.
func BenchmarkAdmitted(b *testing.B) { benchmark(b, func(*Breaker) {}) }

func benchmark(b *testing.B, prepare func(*Breaker)) {
	br, err := NewBreaker(BreakerConfig{OpenTimeout: never, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	prepare(br)
	rdb := redis.NewClient(&redis.Options{})
	defer rdb.Close()
	free := func(client.Handler) client.Handler {
		return func(context.Context, client.Request) (*client.Lease, error) { return nil, client.ErrNotAcquired }
	}
	c, err := client.New(rdb, client.WithMiddleware(br.Middleware(), free))
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if lease, err := c.TryAcquire(ctx, "k"); err == nil {
			b.Fatal(lease)
		}
	}
}
