package contract

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/holdfast-go/holdfast/client"
)

// slotsLimit: at most n hold the lock, whatever is released how often.
func slotsLimit(w *world) {
	a, b := w.client(), w.client()
	three := client.Slots(3)
	leases := []*client.Lease{w.take(a, "k", three), w.take(b, "k", three), w.take(b, "k", three)}
	w.refused(a, "k", three)
	info, err := a.Inspect(w.ctx, "k")
	if err != nil || info.Slots != 3 || info.Free != 0 || len(info.Holders) != 3 || info.Mode != client.SlotsMode {
		w.Errorf("%+v, %v", info, err)
	}
	for range 3 { // a release too many frees no slot
		w.release(leases[0])
	}
	if info, err = a.Inspect(w.ctx, "k"); err != nil || info.Free != 1 {
		w.Errorf("%+v, %v", info, err)
	}
	leases[0] = w.take(a, "k", three)
	w.refused(b, "k", three)
	w.refused(b, "k")
	for _, l := range leases {
		w.release(l)
	}
	w.release(w.take(b, "k"))
}

// slotsOfOneNumber: another number for a lock that is held is a mistake, and said to
// be one.
func slotsOfOneNumber(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k", client.Slots(2))
	_, err := b.TryAcquire(w.ctx, "k", client.Slots(5))
	w.fails(err, client.ErrInvalid, "k")
	w.release(l)
	w.release(w.take(b, "k", client.Slots(5)))
}

// slotsExpire: the slot of a holder that is gone comes back by itself. C147
func slotsExpire(w *world) {
	a, b := w.client(), w.client()
	two := client.Slots(2)
	w.take(a, "k", two, client.WithoutRenewal())
	kept := w.take(b, "k", two)
	w.refused(b, "k", two)
	w.sleep(1.2)
	again := w.take(b, "k", two)
	w.refused(b, "k", two)
	w.live(kept)
	w.release(kept)
	w.release(again)
}

// slotsUnderLoad: a lease that was extended in time is never pushed out. C077
func slotsUnderLoad(w *world) {
	const limit, workers, rounds = 3, 9, 8
	var inside atomic.Int32
	var work sync.WaitGroup
	for range workers {
		c := w.client()
		work.Go(func() {
			for range rounds {
				l := w.await(c, "k", client.Slots(limit), client.WithTTL(10*w.ttl))
				if l == nil {
					return
				}
				if n := inside.Add(1); n > limit {
					w.Errorf("%d hold %d slots", n, limit)
				}
				if rand.IntN(2) == 0 {
					if err := l.Extend(w.ctx, 11*w.ttl); err != nil {
						w.Error(err)
					}
				}
				inside.Add(-1)
				w.release(l)
			}
		})
	}
	work.Wait()
}
