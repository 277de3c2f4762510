package client_test

import (
	"context"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// BenchmarkChain is what eight layers that do nothing cost.
func BenchmarkChain(b *testing.B) {
	core := func(context.Context, client.Request) (*client.Lease, error) { return nil, client.ErrNotAcquired }
	chain := client.Chain(slices.Repeat([]client.Middleware{passThrough}, 8)...)(core)
	ctx, req := context.Background(), client.Request{Key: "k"}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = chain(ctx, req)
	}
}

// BenchmarkPair is an uncontended acquire and release beside the two bare commands
// that they come to, on one server: the difference is what the bounds of commands,
// the lease and its context cost.
func BenchmarkPair(b *testing.B) {
	rdb := redistest.Start(b).Client(b)
	ctx := context.Background()
	b.Run("lease", func(b *testing.B) {
		c, err := client.New(rdb)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close(ctx)
		b.ReportAllocs()
		for b.Loop() {
			l, err := c.Acquire(ctx, "k")
			if err != nil {
				b.Fatal(err)
			}
			if err := l.Release(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			rdb.Do(ctx, "SET", "bare", "token", "NX", "PX", 30_000)
			rdb.Eval(ctx, "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end", []string{"bare"}, "token")
		}
	})
}
