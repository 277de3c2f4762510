package contract

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// oneAtATime: whoever holds the lock is alone, over goroutines and over Clients.
func oneAtATime(w *world) {
	const clients, workers, rounds = 3, 5, 4
	var inside, turns atomic.Int32
	var work sync.WaitGroup
	for range clients {
		c := w.client()
		for range workers {
			work.Go(func() {
				for range rounds {
					l := w.await(c, "k", client.WithTTL(10*w.ttl))
					if l == nil {
						return
					}
					if n := inside.Add(1); n != 1 {
						w.Errorf("%d hold the lock", n)
					}
					turns.Add(1)
					time.Sleep(rand.N(w.ttl / 200))
					inside.Add(-1)
					w.release(l)
				}
			})
		}
	}
	work.Wait()
	if n := turns.Load(); n != clients*workers*rounds {
		w.Errorf("%d of %d had their turn", n, clients*workers*rounds)
	}
}

// heldIsRefused: a try at a held lock fails and changes nothing for its holder,
// whatever TTL it asks for. C027, C028
func heldIsRefused(w *world) {
	a, b := w.client(), w.client(client.WithTTL(w.ttl/7))
	held := w.take(a, "k", client.WithoutRenewal())
	before := held.Deadline()
	for range 20 {
		w.refused(b, "k")
		w.refused(a, "k")
	}
	if !held.Deadline().Equal(before) {
		w.Error("the tries moved the holder's deadline")
	}
	next := w.await(b, "k")
	if next == nil {
		return
	}
	if now := time.Now(); now.Before(before) || now.After(before.Add(patience)) {
		w.Errorf("another got in %v after the holder's deadline", now.Sub(before))
	}
	w.release(next)
}

func keysAreIndependent(w *world) {
	a, b := w.client(), w.client()
	var leases []*client.Lease
	for i := range 10 {
		key := fmt.Sprint("k", i)
		leases = append(leases, w.take([]*client.Client{a, b}[i%2], key))
		if l := leases[i]; l.Key() != key {
			w.Errorf("the lease on %q says %q", key, l.Key())
		}
	}
	w.release(leases[3])
	w.refused(a, "k4")
	w.release(w.take(a, "k3"))
}
