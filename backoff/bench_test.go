package backoff

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/holdfast-go/holdfast/client"
)

func nothing(context.Context, client.Request) (*client.Lease, error) { return nil, nil }

func TestTheFirstAttemptAllocatesNothing(t *testing.T) {
	acquire := mustRetry(t)(nothing)
	if n := testing.AllocsPerRun(1000, func() { _, _ = acquire(context.Background(), client.Request{Key: "k"}) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestARequestFromNowhereIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acquire := mustRetry(t, WithBudget(0, 1))(func(context.Context, client.Request) (*client.Lease, error) {
			return nil, client.ErrUnavailable
		})
		if _, err := acquire(t.Context(), client.Request{Key: "k"}); !errors.Is(err, client.ErrUnavailable) {
			t.Error(err)
		}
	})
}

func BenchmarkRetry(b *testing.B) {
	for name, core := range map[string]client.Handler{
		"granted": nothing,
		"refused": func(context.Context, client.Request) (*client.Lease, error) { return nil, client.ErrNotAcquired },
	} {
		b.Run(name, func(b *testing.B) {
			acquire := mustRetry(b)(core)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = acquire(context.Background(), client.Request{Key: "k"})
			}
		})
	}
}
