package contract

import (
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

func renewalKeeps(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k")
	first := l.Deadline()
	for range 9 {
		w.sleep(0.4)
		w.live(l)
		w.refused(b, "k")
	}
	if moved := l.Deadline().Sub(first); moved < 2*w.ttl {
		w.Errorf("the deadline moved by %v", moved)
	}
	w.release(l)
	w.release(w.take(b, "k"))
}

// renewalStops: after the release nobody keeps the key. C035
func renewalStops(w *world) {
	a, b := w.client(), w.client()
	for range 10 {
		w.release(w.take(a, "k", client.WithRenewalInterval(w.ttl/50)))
	}
	next := w.take(b, "k", client.WithoutRenewal())
	w.sleep(0.4)
	w.live(next)
	w.ended(next, client.ErrLost)
	w.turnOf(b, "k")
}

// renewalTells: who lost the lock learns so from the next renewal, and does the
// next holder no harm. C038, C040, C160
func renewalTells(w *world) {
	a, b := w.client(), w.client()
	for name, taken := range map[string]bool{"gone": false, "taken": true} {
		l := w.take(a, name)
		if err := b.Break(w.ctx, name); err != nil {
			w.Fatal(err)
		}
		var next *client.Lease
		if taken {
			next = w.await(b, name)
		}
		w.ended(l, client.ErrLost)
		var lost *client.LostError
		want := map[bool]client.LossReason{false: client.LossExpired, true: client.LossTaken}[taken]
		if !errors.As(cause(l), &lost) || lost.Loss != want {
			w.Errorf("%s: told of %v", name, cause(l))
		}
		w.fails(l.Extend(w.ctx, 60*w.ttl), client.ErrNotHeld, name)
		w.fails(l.Release(w.ctx), client.ErrNotHeld, name)
		if next != nil {
			w.live(next)
			w.refused(a, name)
			w.release(next)
		}
	}
}

// nextLeaseIsRenewed: that a lease of the key was lost does not keep the next one
// from being renewed. C034, C048
func nextLeaseIsRenewed(w *world) {
	a, b := w.client(), w.client()
	lost := w.take(a, "k")
	if err := b.Break(w.ctx, "k"); err != nil {
		w.Fatal(err)
	}
	w.ended(lost, client.ErrLost)
	l := w.await(a, "k")
	if l == nil {
		return
	}
	start := time.Now()
	for time.Since(start) < 3*w.ttl {
		w.sleep(0.3)
		w.live(l)
		w.refused(b, "k")
	}
	w.release(l)
}
