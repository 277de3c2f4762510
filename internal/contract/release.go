package contract

import (
	"context"
	"sync"

	"github.com/holdfast-go/holdfast/client"
)

func releaseFrees(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k", client.WithTTL(100*w.ttl))
	w.refused(b, "k")
	w.release(l)
	w.ended(l, client.ErrReleased)
	w.release(w.take(b, "k"))
}

// releaseIsIdempotent: each of many releases returns what the first did, and none
// reaches the next holder.
func releaseIsIdempotent(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k")
	var work sync.WaitGroup
	for range 16 {
		work.Go(func() { w.release(l) })
	}
	work.Wait()
	next := w.take(b, "k")
	w.release(l)
	w.live(next)
	w.refused(a, "k")
	w.release(next)
}

// releaseFromElsewhere: a lease belongs to no goroutine. C012
func releaseFromElsewhere(w *world) {
	c := w.client()
	leases := make(chan *client.Lease)
	go func() { leases <- w.await(c, "k") }()
	l := <-leases
	if l == nil {
		return
	}
	if err := l.Extend(w.ctx, 2*w.ttl); err != nil {
		w.Error(err)
	}
	w.release(l)
	w.release(w.take(c, "k"))
}

// lateRelease: the one whose lease has run out learns so, and the next holder is
// none the worse. C001, C002, C004, C007
func lateRelease(w *world) {
	a, b := w.client(), w.client()
	late := w.take(a, "k", client.WithoutRenewal())
	next := w.await(b, "k", client.WithTTL(5*w.ttl), client.WithoutRenewal())
	if next == nil {
		return
	}
	before := next.Deadline()
	for range 2 {
		w.fails(late.Release(w.ctx), client.ErrNotHeld, "k")
		w.fails(late.Extend(w.ctx, 60*w.ttl), client.ErrNotHeld, "k")
	}
	w.ended(late, client.ErrLost)
	w.live(next)
	w.refused(a, "k")
	if !next.Deadline().Equal(before) {
		w.Error("the next holder's deadline moved")
	}
	w.release(next)
	w.release(w.take(a, "k"))
}

// releaseWithDeadContext: whatever has become of the request's context, its
// deferred release frees the lock. C115
func releaseWithDeadContext(w *world) {
	a, b := w.client(), w.client()
	dead, cancel := context.WithCancel(w.ctx)
	cancel()
	l := w.take(a, "k", client.WithTTL(100*w.ttl))
	if err := l.Release(dead); err != nil {
		w.fails(err, client.ErrUnavailable, "k") // not confirmed in time
	}
	w.ended(l, client.ErrReleased)
	w.turnOf(b, "k")
}
