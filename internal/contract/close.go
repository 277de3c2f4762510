package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// closeWaits: a Client that closes takes no calls, and keeps its leases until they
// are released. C154
func closeWaits(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k", client.WithTTL(5*w.ttl))
	closed := make(chan error, 1)
	go func() { closed <- a.Close(w.ctx) }()
	for start := time.Now(); ; time.Sleep(w.ttl / 100) {
		other, err := a.TryAcquire(w.ctx, "another key")
		if err != nil {
			w.fails(err, client.ErrClosed, "another key")
			break
		}
		w.release(other)
		if time.Since(start) > patience {
			w.Fatal("a Client that closes takes calls")
		}
	}
	w.sleep(0.5)
	select {
	case err := <-closed:
		w.Fatalf("Close returned %v while a lease was held", err)
	default:
	}
	w.live(l)
	w.refused(b, "k")
	w.release(l)
	for range 2 {
		if err := <-closed; err != nil {
			w.Error(err)
		}
		closed <- a.Close(w.ctx)
	}
	w.release(w.take(b, "k"))
}

// closeEndsTheRest: when Close may not wait any longer the leases end, and their
// keys go by their TTL. C152
func closeEndsTheRest(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k")
	ctx, cancel := context.WithTimeout(w.ctx, w.ttl/4)
	defer cancel()
	if err := a.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		w.Errorf("Close: %v", err)
	}
	w.ended(l, client.ErrClosed)
	w.turnOf(b, "k")
}

// closeRaces: a call that a Close overtakes returns a lease or ErrClosed, and no
// lock is left behind. C122
func closeRaces(w *world) {
	b := w.client()
	for round := range 5 {
		a := w.client(client.WithTTL(100 * w.ttl))
		var work sync.WaitGroup
		for i := range 12 {
			key := fmt.Sprintf("k%d.%d", round, i)
			work.Go(func() {
				l, err := a.TryAcquire(w.ctx, key)
				if err != nil {
					w.fails(err, client.ErrClosed, key)
					return
				}
				if err := l.Release(w.ctx); err != nil {
					w.Error(err)
				}
			})
		}
		if err := a.Close(w.ctx); err != nil {
			w.Error(err)
		}
		work.Wait()
		for i := range 12 {
			w.turnOf(b, fmt.Sprintf("k%d.%d", round, i))
		}
	}
}
