package contract

import (
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// expiry: a lease without renewal ends, for its holder, before anybody else can
// have the lock, and by its TTL at the latest.
func expiry(w *world) {
	a, b := w.client(), w.client()
	start := time.Now()
	l := w.take(a, "k", client.WithoutRenewal())
	if left := l.Deadline().Sub(start); left > w.ttl+time.Since(start) || left < w.ttl/2 {
		w.Errorf("the lease of a TTL of %v ends in %v", w.ttl, left)
	}
	next := w.await(b, "k")
	if next == nil {
		return
	}
	got := time.Now()
	if l.Context().Err() == nil {
		w.Error("another is in, and the holder's context lives")
	}
	if got.Before(l.Deadline()) {
		w.Errorf("another is in %v before the holder's deadline", l.Deadline().Sub(got))
	}
	w.ended(l, client.ErrLost)
	w.release(next)
}

// freshAfterWait: the time of a lease begins with its grant, not with the wait for
// it. C025
func freshAfterWait(w *world) {
	a, b := w.client(), w.client()
	w.take(a, "k", client.WithTTL(2*w.ttl), client.WithoutRenewal())
	l := w.await(b, "k", client.WithoutRenewal())
	if l == nil {
		return
	}
	if left := time.Until(l.Deadline()); left < w.ttl/2 {
		w.Errorf("%v of %v are left after the wait", left, w.ttl)
	}
	w.live(l)
	if err := l.Extend(w.ctx, w.ttl); err != nil {
		w.Error(err)
	}
	w.release(l)
}

// lateReply: however late the reply to a grant or an Extend comes, the lease ends
// before the store lets another in.
func lateReply(w *world) {
	if w.store.Delay == nil {
		w.Skip("the store cannot be slowed down")
	}
	a, b := w.client(client.WithoutRenewal()), w.client(client.WithoutRenewal())
	late := w.ttl / 30 // above the allowance for drift
	for _, extend := range []bool{false, true} {
		w.turnOf(a, "warm")
		w.turnOf(b, "warm")
		w.store.Delay(late)
		l := w.take(a, "k")
		if extend {
			time.Sleep(w.ttl / 3)
			if err := l.Extend(w.ctx, w.ttl); err != nil {
				w.Error(err)
			}
		}
		w.store.Delay(0)
		next := w.await(b, "k")
		if next == nil {
			return
		}
		if got := time.Now(); got.Before(l.Deadline()) || l.Context().Err() == nil {
			w.Errorf("another is in %v before the holder's deadline", l.Deadline().Sub(got))
		}
		w.release(next)
	}
}
