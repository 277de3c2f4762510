package contract

import (
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// maxHold: however the lease is renewed or extended, it ends, and the lock is free
// a TTL later at the latest. C045
func maxHold(w *world) {
	a, b := w.client(), w.client()
	limit := 3 * w.ttl / 2
	start := time.Now()
	l := w.take(a, "k", client.WithMaxHold(limit))
	if err := l.Extend(w.ctx, 3*w.ttl); err != nil {
		w.Fatal(err)
	}
	w.ended(l, client.ErrLost)
	if d := time.Since(start); d < limit {
		w.Errorf("ended after %v, before its maximum hold of %v", d, limit)
	}
	var lost *client.LostError
	if !errors.As(cause(l), &lost) || lost.Reason != client.EndMaxHold {
		w.Errorf("cause %v", cause(l))
	}
	w.turnOf(b, "k")
}

// maxHoldThenRelease: the release of a lease that met its maximum hold frees the
// lock at once.
func maxHoldThenRelease(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k", client.WithTTL(100*w.ttl), client.WithMaxHold(w.ttl/3))
	w.ended(l, client.ErrLost)
	w.release(l)
	w.release(w.take(b, "k"))
}

// minHold: a release before the minimum has passed succeeds, and the lock rests.
// C155
func minHold(w *world) {
	a, b := w.client(), w.client()
	minimum := 3 * w.ttl // above the TTL
	start := time.Now()
	l := w.take(a, "k", client.WithMinHold(minimum))
	w.release(l)
	w.release(l)
	w.ended(l, client.ErrReleased)
	w.fails(l.Extend(w.ctx, 100*w.ttl), client.ErrNotHeld, "k")
	w.refused(a, "k")
	w.sleep(1.5)
	w.refused(b, "k")
	next := w.await(b, "k")
	if next == nil {
		return
	}
	// The server counts in milliseconds.
	if d := time.Since(start); d < minimum-2*time.Millisecond {
		w.Errorf("handed on after %v", d)
	}
	w.release(next)
}

// minHoldCovers: the lease lasts for its minimum, even if its TTL is shorter and
// nobody renews or releases it.
func minHoldCovers(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k", client.WithMinHold(3*w.ttl), client.WithoutRenewal())
	w.sleep(1.5)
	w.live(l)
	w.refused(b, "k")
	w.turnOf(b, "k")
	w.ended(l, client.ErrLost)
}

func minHoldPassed(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k", client.WithTTL(100*w.ttl), client.WithMinHold(w.ttl/5))
	w.sleep(0.3)
	w.release(l)
	w.release(w.take(b, "k"))
}
