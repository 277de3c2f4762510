package contract

import (
	"reflect"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

func (w *world) fence(l *client.Lease) uint64 {
	w.Helper()
	f, ok := l.Fence()
	if !ok || f == 0 || f >= 1<<53 {
		w.Fatalf("fence %d, %v", f, ok)
	}
	return f
}

// fenceRises: with every grant of the key, whoever gets it and however the one
// before ended. C030
func fenceRises(w *world) {
	clients := []*client.Client{w.client(), w.client(), w.client()}
	var last uint64
	for i := range 12 {
		c := clients[i%3]
		l := w.await(c, "k", client.WithoutRenewal())
		if l == nil {
			return
		}
		f := w.fence(l)
		if f <= last {
			w.Errorf("grant %d has fence %d after %d", i, f, last)
		}
		last = f
		switch i % 4 {
		case 0, 1:
			w.release(l)
		case 2:
			if err := clients[0].Break(w.ctx, "k"); err != nil {
				w.Error(err)
			}
		case 3:
			w.ended(l, client.ErrLost)
		}
	}
}

func fenceStays(w *world) {
	c := w.client(client.Reentrant())
	l := w.take(c, "k")
	f := w.fence(l)
	inner, err := c.TryAcquire(l.Context(), "k")
	if err != nil {
		w.Fatal(err)
	}
	if err := l.Extend(w.ctx, 2*w.ttl); err != nil {
		w.Error(err)
	}
	w.sleep(0.5)
	if w.fence(l) != f || w.fence(inner) != f {
		w.Errorf("the fence %d became %d and %d", f, w.fence(l), w.fence(inner))
	}
	w.release(inner)
	w.release(l)
}

// inspect: what is told is true, and asking disturbs nobody. C158
func inspect(w *world) {
	a, b := w.client(client.WithIdentity("api-7")), w.client()
	look := func() client.Info {
		w.Helper()
		info, err := b.Inspect(w.ctx, "k")
		if err != nil {
			w.Fatal(err)
		}
		return info
	}
	if info := look(); !reflect.DeepEqual(info, client.Info{Key: "k"}) {
		w.Errorf("of a free lock: %+v", info)
	}
	l := w.take(a, "k", client.WithoutRenewal())
	info := look()
	if !info.Held || info.Holder != "api-7" || info.Fence != w.fence(l) || info.TTL <= 0 || info.TTL > w.ttl {
		w.Errorf("of a held lock: %+v", info)
	}
	if d := time.Since(info.Since); d < -patience || d > patience {
		w.Errorf("held since %v", d)
	}
	w.ended(l, client.ErrLost)
	for start := time.Now(); look().Held; time.Sleep(w.ttl / 100) {
		if time.Since(start) > patience {
			w.Fatalf("of a lock that ran out: %+v", look())
		}
	}
	w.release(w.take(a, "k"))
}

// breaks: a lock that an operator breaks is free at once, and breaking one that is
// free does nothing. C160
func breaks(w *world) {
	a, b := w.client(client.WithTTL(100*w.ttl)), w.client()
	l := w.take(a, "k")
	for range 2 {
		if err := b.Break(w.ctx, "k"); err != nil {
			w.Fatal(err)
		}
	}
	next := w.take(b, "k")
	w.fails(l.Extend(w.ctx, w.ttl), client.ErrNotHeld, "k")
	w.ended(l, client.ErrLost)
	w.live(next)
	w.release(next)
}
