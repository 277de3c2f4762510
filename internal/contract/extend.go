package contract

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

func extendMovesTheEnd(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k", client.WithoutRenewal())
	first := l.Deadline()
	if err := l.Extend(w.ctx, 3*w.ttl); err != nil {
		w.Fatal(err)
	}
	if moved := l.Deadline().Sub(first); moved < w.ttl {
		w.Errorf("the deadline moved by %v", moved)
	}
	w.sleep(1.5)
	w.live(l)
	w.refused(b, "k")
	w.release(l)
	w.release(w.take(b, "k"))
}

// extendShortensNothing: what was granted once stays granted.
func extendShortensNothing(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k", client.WithTTL(4*w.ttl), client.WithoutRenewal())
	before := l.Deadline()
	if err := l.Extend(w.ctx, w.ttl); err != nil {
		w.Fatal(err)
	}
	if l.Deadline().Before(before) {
		w.Errorf("the deadline moved back by %v", before.Sub(l.Deadline()))
	}
	w.sleep(1.5)
	w.live(l)
	w.refused(b, "k")
	w.release(l)
}

// extendAfterTheEnd: neither a lease that was released nor one that ran out comes
// back. C041
func extendAfterTheEnd(w *world) {
	a, b := w.client(), w.client()
	released, expired := w.take(a, "released"), w.take(a, "expired", client.WithoutRenewal())
	w.release(released)
	w.ended(expired, client.ErrLost)
	for _, l := range []*client.Lease{released, expired} {
		w.fails(l.Extend(w.ctx, 100*w.ttl), client.ErrNotHeld, l.Key())
		if l.Context().Err() == nil {
			w.Errorf("the lease on %q came back", l.Key())
		}
		w.turnOf(b, l.Key())
	}
}

// extendRacesRelease: whatever the order, the lock is free in the end. C011
func extendRacesRelease(w *world) {
	a, b := w.client(), w.client()
	for range 40 {
		l := w.take(a, "k", client.WithTTL(100*w.ttl))
		ctx, cancel := context.WithTimeout(w.ctx, patience)
		var work sync.WaitGroup
		work.Go(func() {
			for {
				err := l.Extend(ctx, 100*w.ttl)
				if errors.Is(err, client.ErrNotHeld) {
					w.fails(err, client.ErrNotHeld, "k")
					return
				}
				if err != nil {
					w.Errorf("Extend while Release runs: %v", err)
					return
				}
				time.Sleep(w.ttl / 1000)
			}
		})
		time.Sleep(rand.N(w.ttl / 300))
		w.release(l)
		work.Wait()
		cancel()
		w.release(w.take(b, "k"))
	}
}
