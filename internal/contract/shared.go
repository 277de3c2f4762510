package contract

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// sharedTogether: readers hold the lock together, a writer alone.
func sharedTogether(w *world) {
	a, b := w.client(), w.client()
	r1 := w.take(a, "k", client.Shared())
	r2 := w.take(b, "k", client.Shared())
	r3 := w.take(b, "k", client.Shared())
	seen := map[uint64]bool{}
	for _, l := range []*client.Lease{r1, r2, r3} {
		if f, ok := l.Fence(); !ok || seen[f] {
			w.Errorf("fence %d again", f)
		} else {
			seen[f] = true
		}
	}
	w.refused(a, "k")
	w.release(r1)
	w.refused(b, "k")
	w.release(r3)
	w.refused(a, "k", client.Slots(3))
	w.release(r2)
	writer := w.take(a, "k")
	w.refused(b, "k", client.Shared())
	w.release(writer)
	w.release(w.take(b, "k", client.Shared()))
}

// sharedExpiry: each reader has its own expiry, and a dead one does not live on the
// renewals of a live one. C085
func sharedExpiry(w *world) {
	a, b := w.client(), w.client()
	for range 3 {
		w.take(a, "k", client.Shared(), client.WithoutRenewal())
	}
	live := w.take(b, "k", client.Shared())
	w.sleep(1.5)
	w.live(live)
	info, err := b.Inspect(w.ctx, "k")
	if err != nil || len(info.Holders) != 1 || info.Mode != client.SharedMode {
		w.Errorf("%+v, %v", info, err)
	}
	w.refused(a, "k")
	w.release(live)
	w.release(w.take(a, "k"))
}

// upgrade: a reader that wants the lock alone is told at once, and keeps its lease.
// C084
func upgrade(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k", client.Shared())
	_, err := a.Acquire(l.Context(), "k")
	w.fails(err, client.ErrInvalid, "k")
	w.live(l)
	w.release(l)
	o := client.WithOwner("o")
	l = w.take(b, "k", client.Shared(), o)
	for _, c := range []*client.Client{a, b} {
		_, err = c.Acquire(w.ctx, "k", o)
		w.fails(err, client.ErrInvalid, "k")
	}
	w.live(l)
	w.release(l)
	w.release(w.take(a, "k", o))
}

// downgrade: a writer becomes a reader without letting another writer in.
func downgrade(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k")
	before, _ := l.Fence()
	w.refused(b, "k", client.Shared())
	for range 2 {
		if err := l.Downgrade(w.ctx); err != nil {
			w.Fatal(err)
		}
	}
	if f, ok := l.Fence(); !ok || f != before {
		w.Errorf("fence %d, was %d", f, before)
	}
	r := w.take(b, "k", client.Shared())
	w.refused(b, "k")
	w.sleep(1.5)
	w.live(l)
	w.release(l)
	w.refused(a, "k")
	w.release(r)
	w.fails(l.Downgrade(w.ctx), client.ErrNotHeld, "k")
	slot := w.take(a, "k", client.Slots(2))
	w.fails(slot.Downgrade(w.ctx), client.ErrInvalid, "k")
	w.release(slot)
}

// readersAndWriters: whatever comes when, no writer has company.
func readersAndWriters(w *world) {
	const clients, workers, rounds = 3, 3, 6
	var readers, writers atomic.Int32
	var work sync.WaitGroup
	for range clients {
		c := w.client()
		for i := range workers {
			work.Go(func() {
				for range rounds {
					opts := []client.AcquireOption{client.WithTTL(10 * w.ttl)}
					mine, others := &writers, &readers
					if i > 0 {
						opts = append(opts, client.Shared())
						mine, others = others, mine
					}
					l := w.await(c, "k", opts...)
					if l == nil {
						return
					}
					if n := mine.Add(1); others.Load() > 0 || i == 0 && n > 1 {
						w.Errorf("%d readers and %d writers", readers.Load(), writers.Load())
					}
					time.Sleep(w.ttl / 300)
					mine.Add(-1)
					w.release(l)
				}
			})
		}
	}
	work.Wait()
}
