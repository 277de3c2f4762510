package contract

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/holdfast-go/holdfast/client"
)

// cancelEndsTheLease: the context given to the acquire carries the lease; its
// release afterwards is no failure. C115
func cancelEndsTheLease(w *world) {
	a, b := w.client(), w.client()
	why := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(w.ctx)
	l, err := a.TryAcquire(ctx, "k", client.WithTTL(100*w.ttl))
	if err != nil {
		w.Fatal(err)
	}
	cancel(why)
	if l.Context().Err() == nil || !errors.Is(cause(l), why) {
		w.Errorf("error %v, cause %v", l.Context().Err(), cause(l))
	}
	w.fails(l.Extend(w.ctx, w.ttl), client.ErrNotHeld, "k")
	if err := l.Release(ctx); err != nil {
		w.fails(err, client.ErrUnavailable, "k") // not confirmed in time
	}
	w.turnOf(b, "k")
}

func cancelBefore(w *world) {
	c := w.client()
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	for _, acquire := range []func(context.Context, string, ...client.AcquireOption) (*client.Lease, error){c.Acquire, c.TryAcquire} {
		l, err := acquire(ctx, "k")
		if l != nil || !errors.Is(err, context.Canceled) {
			w.Errorf("lease %v, error %v", l, err)
		}
		w.fails(err, client.ErrUnavailable, "k")
	}
	w.release(w.take(c, "k"))
}

// cancelRaces: a call that is cancelled while it succeeds returns a lease or an
// error, and with the error the lock is soon free. C022
func cancelRaces(w *world) {
	a, b := w.client(), w.client()
	granted := 0
	for i := range 150 {
		key := fmt.Sprint("k", i)
		ctx, cancel := context.WithCancel(w.ctx)
		var work sync.WaitGroup
		work.Go(func() {
			for range rand.N(200) {
				runtime.Gosched()
			}
			cancel()
		})
		l, err := a.TryAcquire(ctx, key, client.WithTTL(100*w.ttl))
		work.Wait()
		switch {
		case (l == nil) == (err == nil):
			w.Fatalf("lease %v, error %v", l, err)
		case err == nil:
			granted++
			if err := l.Release(ctx); err != nil {
				w.fails(err, client.ErrUnavailable, key)
			}
		case !errors.Is(err, context.Canceled):
			w.Errorf("the context's error is not to be seen: %v", err)
		}
		w.turnOf(b, key)
	}
	w.Logf("%d of 150 were granted", granted)
}
