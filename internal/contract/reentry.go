package contract

import (
	"context"

	"github.com/holdfast-go/holdfast/client"
)

func cause(l *client.Lease) error { return context.Cause(l.Context()) }

// reentryCounts: the lock is free after the last release, in whatever order, and
// not before. C081, C082
func reentryCounts(w *world) {
	a, b := w.client(client.Reentrant(), client.WithTTL(100*w.ttl)), w.client()
	nest := func(outer *client.Lease) *client.Lease {
		w.Helper()
		l, err := a.TryAcquire(outer.Context(), "k")
		if err != nil {
			w.Fatal(err)
		}
		return l
	}
	outer := w.take(a, "k")
	middle := nest(outer)
	inner := nest(middle)
	for _, l := range []*client.Lease{outer, inner, middle} {
		w.live(middle)
		w.refused(b, "k")
		w.release(l)
		w.release(l)
	}
	for _, l := range []*client.Lease{outer, inner, middle} {
		w.ended(l, client.ErrReleased)
	}
	w.release(w.take(b, "k"))
}

// reentryByContextOnly: neither the same Client nor another one re-enters without
// the lease's context. C080
func reentryByContextOnly(w *world) {
	a, b, plain := w.client(client.Reentrant()), w.client(client.Reentrant()), w.client()
	l := w.take(a, "k", client.WithTTL(100*w.ttl))
	w.refused(a, "k")
	for _, c := range []*client.Client{b, plain} {
		_, err := c.TryAcquire(l.Context(), "k")
		w.fails(err, client.ErrNotAcquired, "k")
	}
	other, err := a.TryAcquire(l.Context(), "another key")
	if err != nil {
		w.Fatal(err)
	}
	w.release(other)
	w.live(l)
	w.release(l)
	// The context of a lease that is over leads into nothing.
	if stale, err := a.TryAcquire(l.Context(), "k"); err == nil {
		w.Errorf("entered by a dead context: %v", stale.Context().Err())
	}
	w.release(w.take(b, "k"))
}

// reentryEndsAsAWhole: when the lease is lost all who nested in it learn so.
func reentryEndsAsAWhole(w *world) {
	a, b := w.client(client.Reentrant(), client.WithoutRenewal()), w.client()
	outer := w.take(a, "k")
	inner, err := a.TryAcquire(outer.Context(), "k")
	if err != nil {
		w.Fatal(err)
	}
	next := w.await(b, "k")
	if next == nil {
		return
	}
	for _, l := range []*client.Lease{inner, outer} {
		w.ended(l, client.ErrLost)
		w.fails(l.Release(w.ctx), client.ErrNotHeld, "k")
	}
	w.live(next)
	w.release(next)
}

// reentryByOwner: the same owner enters from another process, everybody else waits
// for the last of its leases, and each lease has its own expiry.
func reentryByOwner(w *world) {
	a, b, other := w.client(), w.client(), w.client()
	first := w.take(a, "k", client.WithOwner("job 7"))
	second := w.take(b, "k", client.WithOwner("job 7"))
	if first.Token() == second.Token() {
		w.Error("two leases have one token")
	}
	crowd := func() {
		w.Helper()
		w.refused(other, "k")
		w.refused(other, "k", client.WithOwner("job 8"))
	}
	crowd()
	w.release(first)
	crowd()
	w.live(second)
	w.sleep(1.5) // it is renewed
	w.live(second)
	crowd()
	forgotten := w.take(a, "k", client.WithOwner("job 7"), client.WithoutRenewal())
	w.release(second)
	w.refused(other, "k")
	next := w.await(other, "k")
	if next == nil {
		return
	}
	w.ended(forgotten, client.ErrLost)
	w.release(next)
}
