package middleware

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/holdfast-go/holdfast/client"
)

// nothing is a core that costs nothing.
func nothing(context.Context, client.Request) (*client.Lease, error) { return nil, nil }

func TestLayersAllocateNothingWithoutNeed(t *testing.T) {
	always := func(client.Request) bool { return true }
	for name, mw := range map[string]client.Middleware{
		"timeout of 0":         Timeout(0),
		"attempt timeout of 0": AttemptTimeout(0),
		"when":                 When(always, Timeout(0)),
		"log":                  Log(nil),
	} {
		acquire := mw(nothing)
		if n := testing.AllocsPerRun(100, func() { _, _ = acquire(context.Background(), client.Request{Key: "k"}) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}

// A free gate costs its entry in the table.
func TestFreeGateAllocatesItsEntryAlone(t *testing.T) {
	acquire := Gate()(nothing)
	if n := testing.AllocsPerRun(100, func() { _, _ = acquire(context.Background(), client.Request{Key: "k"}) }); n > 1 {
		t.Errorf("%v allocations, want 1", n)
	}
}

func BenchmarkGate(b *testing.B) {
	acquire := Gate()(nothing)
	b.Run("free", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = acquire(context.Background(), client.Request{Key: "k", Wait: true})
		}
	})
	b.Run("other keys beside", func(b *testing.B) {
		b.ReportAllocs()
		var n atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			req := client.Request{Key: fmt.Sprint(n.Add(1)), Wait: true}
			for pb.Next() {
				_, _ = acquire(context.Background(), req)
			}
		})
	})
	b.Run("same key", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_, _ = acquire(context.Background(), client.Request{Key: "k", Wait: true})
			}
		})
	})
}
