package contract

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// manyAtOnce: one lease over all of the keys, or none.
func manyAtOnce(w *world) {
	a, b := w.client(), w.client()
	l, err := a.AcquireAll(w.ctx, []string{"c", "a", "b", "a"})
	if err != nil {
		w.Fatal(err)
	}
	if keys := l.Keys(); !slices.Equal(keys, []string{"a", "b", "c"}) {
		w.Errorf("keys %q", keys)
	}
	for _, key := range l.Keys() {
		w.refused(b, key)
	}
	w.sleep(1.5)
	w.live(l)
	w.release(l)
	fence, _ := l.Fence()
	for _, key := range l.Keys() {
		one := w.take(b, key)
		if f, _ := one.Fence(); f <= fence {
			w.Errorf("fence %d of %q after %d", f, key, fence)
		}
		w.release(one)
	}
}

// manyOrNone: where one of the keys is held, none is taken.
func manyOrNone(w *world) {
	a, b := w.client(), w.client()
	held := w.take(a, "b")
	_, err := b.AcquireAll(w.ctx, []string{"a", "b", "c"}, client.WithWaitTimeout(w.ttl))
	w.fails(err, client.ErrNotAcquired, "a, b, c")
	w.turnOf(a, "a")
	w.turnOf(a, "c")
	w.release(held)
	var l *client.Lease
	if l, err = b.AcquireAll(w.ctx, []string{"a", "b", "c"}); err != nil {
		w.Fatal(err)
	}
	w.release(l)
}

// manyEndTogether: who loses one of the keys has lost the lease.
func manyEndTogether(w *world) {
	a, b := w.client(), w.client()
	l, err := a.AcquireAll(w.ctx, []string{"a", "b"})
	if err != nil {
		w.Fatal(err)
	}
	if err := b.Break(w.ctx, "b"); err != nil {
		w.Fatal(err)
	}
	w.ended(l, client.ErrLost)
	w.fails(l.Release(w.ctx), client.ErrNotHeld, "a, b")
	w.turnOf(b, "b")
	w.turnOf(b, "a")
}

// manyOverlap: callers with overlapping sets neither meet inside nor wait in a circle.
func manyOverlap(w *world) {
	const workers, rounds = 6, 6
	keys := []string{"a", "b", "c", "d"}
	var inside [4]atomic.Int32
	var work sync.WaitGroup
	for range workers {
		c := w.client()
		work.Go(func() {
			for range rounds {
				picks := rand.Perm(4)[:2]
				var l *client.Lease
				for l == nil {
					var err error
					l, err = c.AcquireAll(w.ctx, []string{keys[picks[0]], keys[picks[1]]}, client.WithTTL(10*w.ttl))
					if err != nil && client.ErrorType(err) != "not_acquired" {
						w.Error(err)
						return
					}
					time.Sleep(rand.N(w.ttl / 50))
				}
				for _, i := range picks {
					if n := inside[i].Add(1); n != 1 {
						w.Errorf("%d hold %q", n, keys[i])
					}
				}
				for _, i := range picks {
					inside[i].Add(-1)
				}
				w.release(l)
			}
		})
	}
	work.Wait()
}
