package contract

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// history has several Clients contend for a few locks in all the ways there are,
// and has a checker judge what each saw: no two hold a lock before each other's
// Deadline, its fence rises, and none is refused while it is free.
func history(w *world) { contend(w, nil) }

// historyUnderFaults: the same holds whatever becomes of commands and replies.
func historyUnderFaults(w *world) {
	if w.store.Disturb == nil {
		w.Skip("the store cannot be disturbed")
	}
	contend(w, w.store.Disturb)
}

func contend(w *world, disturb func(context.Context)) {
	const keys, clients, workers, turns = 2, 3, 3, 14
	var recorders []*recorder
	for range keys {
		recorders = append(recorders, newRecorder())
	}
	ctx, cancel := context.WithCancel(w.ctx)
	var faults, work sync.WaitGroup
	if disturb != nil {
		faults.Go(func() { disturb(ctx) })
	}
	for range clients {
		c := w.client()
		for range workers {
			work.Go(func() {
				for range turns {
					k := rand.N(keys)
					w.turn(c, fmt.Sprint("k", k), recorders[k], disturb != nil)
				}
			})
		}
	}
	work.Wait()
	cancel()
	faults.Wait()
	for k, r := range recorders {
		if err := r.check(); err != nil {
			w.Errorf("lock k%d: %v", k, err)
		}
		w.free(fmt.Sprint("k", k))
	}
}

// free checks that nobody holds the lock for longer than the TTL. A fault that was
// ordered and has not been met yet may cost a try.
func (w *world) free(key string) {
	c := w.client()
	start := time.Now()
	for {
		l, err := c.TryAcquire(w.ctx, key)
		if err == nil {
			_ = l.Release(w.ctx)
			return
		}
		if time.Since(start) > patience {
			w.Errorf("the lock on %q is not free after %v: %v", key, time.Since(start), err)
			return
		}
		time.Sleep(w.ttl / 50)
	}
}

// turn is one try at a lock, and what comes of it, on the record. With hasty it may
// be given up at any moment.
func (w *world) turn(c *client.Client, key string, r *recorder, hasty bool) {
	time.Sleep(rand.N(w.ttl / 8))
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	var canceled atomic.Int64 // when; 0 for never
	cancel := func() {
		canceled.CompareAndSwap(0, r.stamp())
		stop()
	}
	renewal := client.AcquireOption(client.WithMaxHold(100 * w.ttl))
	if rand.N(2) == 0 {
		renewal = client.WithoutRenewal()
	}
	if hasty && rand.N(4) == 0 {
		timer := time.AfterFunc(rand.N(w.ttl/50), cancel)
		defer timer.Stop()
	}
	call := r.stamp()
	l, err := c.TryAcquire(ctx, key, renewal)
	ret := r.stamp()
	var held *client.HeldError
	switch {
	case errors.As(err, &held):
		if !held.Local { // that another of the process is asking is no holder's doing
			r.add(act{kind: actHeld}, call, ret)
		}
		return
	case errors.Is(err, client.ErrUnavailable):
		r.unsure()
		return
	case err != nil:
		w.Errorf("TryAcquire: %v", err)
		return
	}
	id := r.next()
	fence, _ := l.Fence()
	r.add(act{actGranted, id, fence}, call, ret)
	w.hold(l, ctx, cancel)

	call = r.stamp()
	deadline := r.at(l.Deadline())
	err = l.Release(w.ctx)
	ret = r.stamp()
	if err != nil || call > deadline {
		ret = never // nobody knows when the key went
	}
	if at := canceled.Load(); at != 0 {
		call = min(call, at)
	}
	r.add(act{kind: actEnded, lease: id}, min(call, deadline), ret)
}

// hold is what a holder does with its lease until it gives it up. Whether it was
// lost on the way is for the record: the release comes after its deadline then.
func (w *world) hold(l *client.Lease, ctx context.Context, cancel func()) {
	time.Sleep(rand.N(w.ttl / 20))
	switch rand.N(4) {
	case 0:
		_ = l.Extend(ctx, w.ttl+rand.N(w.ttl/2))
	case 1: // for longer than its TTL, if it is not renewed
		time.Sleep(w.ttl + rand.N(w.ttl/4))
	case 2:
		cancel()
	}
	time.Sleep(rand.N(w.ttl / 20))
}
