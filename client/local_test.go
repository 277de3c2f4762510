package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// local grants every request inside the process, with MaxTTL as the bound.
func local(maxTTL time.Duration) client.Option {
	return client.WithMiddleware(func(client.Handler) client.Handler {
		return func(_ context.Context, req client.Request) (*client.Lease, error) {
			req.MaxTTL = maxTTL
			return client.NewLocalLease(req)
		}
	})
}

func TestLocalLease(t *testing.T) {
	simulate(t, func(w *world) {
		c, before := w.client(local(time.Minute)), w.m.CommandCount()
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k", client.WithTTL(10*time.Second)))
		var r recorder
		l.Observe(r.observe)
		if _, ok := l.Fence(); ok || !l.Degraded() || l.Context().Err() != nil {
			t.Fatal("not a degraded lease")
		}
		if left := time.Until(l.Deadline()); left != 10*time.Second {
			t.Errorf("ends in %v", left)
		}
		if err := l.Extend(w.ctx, 2*time.Minute); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("Extend above the class's bound: %v", err)
		}
		if err := l.Extend(w.ctx, time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := l.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		if l.Release(w.ctx) != nil || !errors.Is(context.Cause(l.Context()), client.ErrReleased) {
			t.Error("release")
		}
		last := r.events[len(r.events)-1]
		if last.Kind != client.EventEnded || last.Reason != client.EndReleased {
			t.Errorf("%+v", last)
		}
		if w.m.CommandCount() != before {
			t.Error("Redis was asked")
		}
	})
}

func TestLocalLeaseEndsByItsTTL(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(local(time.Minute))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k", client.WithTTL(10*time.Second)))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if !errors.Is(context.Cause(l.Context()), client.ErrLost) || !errors.Is(l.Release(w.ctx), client.ErrNotHeld) {
			t.Fatal(context.Cause(l.Context()))
		}
	})
}

func TestLocalLeaseRestsForItsMinimum(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(local(time.Minute))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k", client.WithMinHold(30*time.Second)))
		start := time.Now()
		ended := make(chan time.Duration, 1)
		l.Observe(func(e client.Event) {
			if e.Kind == client.EventEnded {
				ended <- time.Since(start)
			}
		})
		if err := l.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		if l.Context().Err() == nil {
			t.Error("the context lives on")
		}
		if d := <-ended; d != 30*time.Second {
			t.Errorf("over after %v", d)
		}
	})
}

func TestLocalLeaseNeedsAPipeline(t *testing.T) {
	if _, err := client.NewLocalLease(client.Request{Key: "k", TTL: time.Second}); !errors.Is(err, client.ErrInvalid) {
		t.Fatal(err)
	}
}
