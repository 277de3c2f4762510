package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// C081, C082: the lock is free after the last release, and not before.
func TestReentrantNestsByContextAndCounts(t *testing.T) {
	simulate(t, func(w *world) {
		c, other := w.client(client.WithTTL(3*time.Second), client.Reentrant()), w.client()
		outer := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		before := w.m.CommandCount()
		middle := must[*client.Lease](t)(c.Acquire(outer.Context(), "k"))
		inner := must[*client.Lease](t)(c.TryAcquire(middle.Context(), "k"))
		if n := w.m.CommandCount() - before; n != 0 {
			t.Errorf("re-entry sent %d commands", n)
		}
		f1, _ := outer.Fence()
		f2, _ := inner.Fence()
		if f1 != f2 || outer.Token() != inner.Token() {
			t.Error("re-entry is another grant")
		}
		for _, l := range []*client.Lease{outer, inner} {
			if err := l.Release(w.ctx); err != nil {
				t.Fatal(err)
			}
			if err := l.Release(w.ctx); err != nil { // idempotent, and not counted twice
				t.Fatal(err)
			}
			if outer.Context().Err() != nil {
				t.Fatal("the context ended before the last release")
			}
			if _, err := other.TryAcquire(w.ctx, "k"); !errors.Is(err, client.ErrNotAcquired) {
				t.Fatalf("free before the last release: %v", err)
			}
		}
		time.Sleep(10*time.Second + 7*time.Millisecond) // still renewed
		if err := middle.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(context.Cause(outer.Context()), client.ErrReleased) {
			t.Fatalf("cause %v", context.Cause(outer.Context()))
		}
		must[*client.Lease](t)(other.TryAcquire(w.ctx, "k"))
	})
}

// C080: nothing else re-enters.
func TestNothingElseReenters(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.Reentrant())
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		for name, try := range map[string]func() (*client.Lease, error){
			"another context": func() (*client.Lease, error) { return c.TryAcquire(w.ctx, "k") },
			"another client":  func() (*client.Lease, error) { return w.client(client.Reentrant()).TryAcquire(l.Context(), "k") },
			"not asked for":   func() (*client.Lease, error) { return w.client().TryAcquire(l.Context(), "k") },
			"an owner":        func() (*client.Lease, error) { return c.TryAcquire(w.ctx, "k", client.WithOwner("me")) },
		} {
			if _, err := try(); name != "an owner" && !errors.Is(err, client.ErrNotAcquired) || err == nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		must[*client.Lease](t)(c.TryAcquire(l.Context(), "other"))
	})
}

func TestOwnerReentersFromElsewhere(t *testing.T) {
	simulate(t, func(w *world) {
		a, b, c := w.client(client.WithTTL(3*time.Second)), w.client(client.WithTTL(3*time.Second)), w.client()
		first := must[*client.Lease](t)(a.Acquire(w.ctx, "k", client.WithOwner("job 7")))
		second := must[*client.Lease](t)(b.Acquire(w.ctx, "k", client.WithOwner("job 7")))
		f1, _ := first.Fence()
		f2, _ := second.Fence()
		if f1 != f2 || first.Token() == second.Token() {
			t.Errorf("fences %d %d, same token %v", f1, f2, first.Token() == second.Token())
		}
		refused := func() {
			t.Helper()
			for _, opts := range [][]client.AcquireOption{nil, {client.WithOwner("job 8")}} {
				if _, err := c.TryAcquire(w.ctx, "k", opts...); !errors.Is(err, client.ErrNotAcquired) {
					t.Fatalf("another owner: %v", err)
				}
			}
		}
		refused()
		time.Sleep(20*time.Second + 11*time.Millisecond)
		refused()
		if err := first.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		refused()
		if second.Context().Err() != nil {
			t.Fatal("a lease ended with that of another")
		}
		if err := second.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		must[*client.Lease](t)(c.TryAcquire(w.ctx, "k"))
	})
}

func TestAnOwnersDeadLeaseDoesNotLiveOnAnothers(t *testing.T) {
	simulate(t, func(w *world) {
		a, c := w.client(), w.client()
		// The long one is released; what is left is the short one, which nobody renews.
		long := must[*client.Lease](t)(a.Acquire(w.ctx, "k", client.WithOwner("o"), client.WithTTL(time.Hour)))
		must[*client.Lease](t)(a.Acquire(w.ctx, "k", client.WithOwner("o"), client.WithTTL(2*time.Second), client.WithoutRenewal()))
		if err := long.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		_, err := c.TryAcquire(w.ctx, "k")
		var held *client.HeldError
		if !errors.As(err, &held) || held.TTL > 2*time.Second || held.TTL < time.Second {
			t.Fatalf("held for %v: %v", held, err)
		}
		time.Sleep(2*time.Second + time.Millisecond)
		if info := must[client.Info](t)(c.Inspect(w.ctx, "k")); info.Held {
			t.Errorf("Inspect: %+v", info)
		}
		must[*client.Lease](t)(c.TryAcquire(w.ctx, "k"))
		if w.m.Exists("holdfast:{k}:members") {
			t.Error("the owner's set is left behind")
		}
	})
}

func TestAnOwnersLongTTLIsNotCutByAShortOne(t *testing.T) {
	simulate(t, func(w *world) {
		a := w.client()
		long := must[*client.Lease](t)(a.Acquire(w.ctx, "k", client.WithOwner("o"), client.WithTTL(time.Hour), client.WithoutRenewal()))
		short := must[*client.Lease](t)(a.Acquire(w.ctx, "k", client.WithOwner("o"), client.WithTTL(time.Second)))
		time.Sleep(5*time.Second + 3*time.Millisecond)
		if err := short.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		if ttl := w.m.TTL("holdfast:{k}"); ttl < 59*time.Minute {
			t.Fatalf("the TTL is %v", ttl)
		}
		if err := long.Extend(w.ctx, 2*time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := long.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		if keys := w.m.Keys(); len(keys) != 1 {
			t.Fatalf("left: %v", keys)
		}
	})
}

// Who waits for an owner with several leases waits for the last of them to end.
func TestTheTimeLeftIsThatOfAnOwnersLastLease(t *testing.T) {
	simulate(t, func(w *world) {
		a, b := w.client(), w.client()
		for _, ttl := range []time.Duration{2 * time.Second, 20 * time.Second} {
			must[*client.Lease](t)(a.Acquire(w.ctx, "k", client.WithOwner("o"), client.WithTTL(ttl), client.WithoutRenewal()))
		}
		var held *client.HeldError
		if _, err := b.TryAcquire(w.ctx, "k"); !errors.As(err, &held) || held.TTL < 10*time.Second {
			t.Errorf("%v: the lock is held for 20 s", err)
		}
	})
}
