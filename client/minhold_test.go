package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// C155
func TestMinHoldKeepsAnEarlyReleaseFromOthers(t *testing.T) {
	simulate(t, func(w *world) {
		a, b := w.client(client.WithMinHold(time.Minute), client.WithTTL(10*time.Second)), w.client()
		l := must[*client.Lease](t)(a.Acquire(w.ctx, "cron"))
		if ttl := w.m.TTL("holdfast:{cron}"); ttl != time.Minute {
			t.Fatalf("the first TTL, %v, does not cover the minimum", ttl)
		}
		time.Sleep(5 * time.Second)
		if err := l.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		if err := l.Extend(w.ctx, time.Hour); !errors.Is(err, client.ErrNotHeld) {
			t.Errorf("Extend while resting: %v", err)
		}
		_, err := b.TryAcquire(w.ctx, "cron")
		var held *client.HeldError
		if !errors.As(err, &held) || !held.Resting || held.TTL != 55*time.Second {
			t.Fatalf("%+v, %v", held, err)
		}
		if info := must[client.Info](t)(b.Inspect(w.ctx, "cron")); info.Held || !info.Resting || info.TTL != 55*time.Second {
			t.Errorf("Inspect: %+v", info)
		}
		time.Sleep(55*time.Second + time.Millisecond)
		must[*client.Lease](t)(b.TryAcquire(w.ctx, "cron"))
	})
}

func TestMinHoldThatHasPassedFreesAtOnce(t *testing.T) {
	simulate(t, func(w *world) {
		a, b := w.client(client.WithMinHold(time.Second), client.WithTTL(10*time.Second)), w.client()
		l := must[*client.Lease](t)(a.Acquire(w.ctx, "cron"))
		time.Sleep(7 * time.Second)
		if err := l.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		must[*client.Lease](t)(b.TryAcquire(w.ctx, "cron"))
	})
}

func TestBreakEndsAResting(t *testing.T) {
	simulate(t, func(w *world) {
		a, b := w.client(client.WithMinHold(time.Minute)), w.client()
		if err := must[*client.Lease](t)(a.Acquire(w.ctx, "cron")).Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		if err := b.Break(w.ctx, "cron"); err != nil {
			t.Fatal(err)
		}
		must[*client.Lease](t)(b.TryAcquire(w.ctx, "cron"))
	})
}

func TestOwnersMinHoldCountsAtTheLastRelease(t *testing.T) {
	simulate(t, func(w *world) {
		a, b := w.client(client.WithMinHold(time.Minute)), w.client()
		first := must[*client.Lease](t)(a.Acquire(w.ctx, "k", client.WithOwner("o")))
		second := must[*client.Lease](t)(a.Acquire(w.ctx, "k", client.WithOwner("o")))
		for _, l := range []*client.Lease{first, second} {
			if err := l.Release(w.ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := b.TryAcquire(w.ctx, "k"); !errors.Is(err, client.ErrNotAcquired) {
				t.Fatalf("free before the minimum: %v", err)
			}
		}
		time.Sleep(time.Minute + time.Millisecond)
		must[*client.Lease](t)(b.TryAcquire(w.ctx, "k"))
	})
}
