package holdfast_test

import (
	"context"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// BenchmarkPair is an uncontended acquire and release through the whole pipeline.
func BenchmarkPair(b *testing.B) {
	rdb := redistest.Start(b).Client(b)
	ctx := context.Background()
	c, err := holdfast.New(rdb)
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
}
