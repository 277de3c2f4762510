package contract

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// endOnce: of whatever a lease ends, and of how much at once, its observer is told
// once, and of nothing afterwards but the release that came too late to end it.
func endOnce(w *world) {
	const leases = 60
	c := w.client(client.WithMaxHold(w.ttl / 2))
	var mu sync.Mutex
	ends, late := map[string]int{}, 0
	over := make(chan struct{}, leases)
	var work sync.WaitGroup
	for i := range leases {
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		l, err := c.TryAcquire(ctx, fmt.Sprint("k", i))
		if err != nil {
			w.Fatal(err)
		}
		l.Observe(func(e client.Event) {
			mu.Lock()
			defer mu.Unlock()
			if ends[l.Key()] > 0 && e.Kind != client.EventReleased {
				late++
			}
			if e.Kind != client.EventEnded {
				return
			}
			ends[l.Key()]++
			over <- struct{}{}
			if e.Lease != l || e.Reason == "" || e.Err == nil {
				w.Errorf("told %+v", e)
			}
		})
		work.Go(func() { // about when its maximum hold has passed
			time.Sleep(w.ttl/2 - time.Duration(i%3)*time.Millisecond)
			switch i % 3 {
			case 0:
				_ = l.Release(ctx)
			case 1:
				cancel()
			}
		})
	}
	work.Wait()
	for range leases {
		select {
		case <-over:
		case <-time.After(patience):
			w.Fatal("a lease ended and nobody was told")
		}
	}
	w.sleep(0.3)
	mu.Lock()
	defer mu.Unlock()
	for key, n := range ends {
		if n != 1 {
			w.Errorf("the lease on %s ended %d times", key, n)
		}
	}
	if len(ends) != leases || late > 0 {
		w.Errorf("%d leases ended, %d events came afterwards", len(ends), late)
	}
}

// lateObserver: who asks after the end is told at once.
func lateObserver(w *world) {
	c := w.client()
	released, expired := w.take(c, "released"), w.take(c, "expired", client.WithoutRenewal())
	w.release(released)
	w.ended(expired, client.ErrLost)
	w.sleep(0.1)
	for _, l := range []*client.Lease{released, expired} {
		var got []client.Event
		l.Observe(func(e client.Event) { got = append(got, e) })
		if len(got) != 1 || got[0].Kind != client.EventEnded || string(got[0].Reason) != l.Key() {
			w.Errorf("%s: told %+v", l.Key(), got)
		}
	}
}

// panickingObserver: a fault in one observer keeps nothing from the others, nor
// the lock from the next holder.
func panickingObserver(w *world) {
	a, b := w.client(), w.client()
	l := w.take(a, "k")
	l.Observe(func(client.Event) { panic("an observer's own fault") })
	told := make(chan client.Event, 8)
	l.Observe(func(e client.Event) { told <- e })
	w.release(l)
	for {
		select {
		case e := <-told:
			if e.Kind != client.EventEnded {
				continue
			}
		case <-time.After(patience):
			w.Error("the other observer was not told of the end")
		}
		break
	}
	w.release(w.take(b, "k"))
}
