package contract

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// patience bounds what must happen soon. It is generous: the machine may be busy.
const patience = 20 * time.Second

// world is what a contract works with: a store of its own.
type world struct {
	*testing.T
	ctx   context.Context
	store Store
	ttl   time.Duration
	local bool
}

func newWorld(t *testing.T, b Backend) *world {
	return &world{T: t, ctx: t.Context(), store: b.Open(t), ttl: b.TTL, local: b.Local}
}

// client makes a Client whose leases have the backend's TTL.
func (w *world) client(opts ...client.Option) *client.Client {
	w.Helper()
	c, err := w.store.Client(append([]client.Option{client.WithTTL(w.ttl)}, opts...)...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		// It waits for what is under way, and for no lease unless the contract failed.
		ctx, cancel := context.WithTimeout(context.Background(), patience/2)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// take takes a lock that is free.
func (w *world) take(c *client.Client, key string, opts ...client.AcquireOption) *client.Lease {
	w.Helper()
	l, err := c.TryAcquire(w.ctx, key, opts...)
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// await takes the lock as soon as it is free. It may be called from any goroutine;
// on failure it reports, and returns nil.
func (w *world) await(c *client.Client, key string, opts ...client.AcquireOption) *client.Lease {
	w.Helper()
	start := time.Now()
	for {
		l, err := c.TryAcquire(w.ctx, key, opts...)
		switch {
		case err == nil:
			return l
		case !errors.Is(err, client.ErrNotAcquired) || time.Since(start) > patience:
			w.Errorf("the lock is not free after %v: %v", time.Since(start), err)
			return nil
		}
		time.Sleep(rand.N(w.ttl / 50))
	}
}

// turnOf checks that c can have the lock soon.
func (w *world) turnOf(c *client.Client, key string) {
	w.Helper()
	if l := w.await(c, key); l != nil {
		w.release(l)
	}
}

// refused checks that the lock is not free for c.
func (w *world) refused(c *client.Client, key string, opts ...client.AcquireOption) {
	w.Helper()
	l, err := c.TryAcquire(w.ctx, key, opts...)
	if l != nil {
		w.Fatalf("the lock on %q was had by two", key)
	}
	w.fails(err, client.ErrNotAcquired, key)
}

func (w *world) release(l *client.Lease) {
	w.Helper()
	if err := l.Release(w.ctx); err != nil {
		w.Error(err)
	}
}

// sleep waits for n TTLs and a little more: two timers that are due at the same
// instant of a bubble have no order.
func (w *world) sleep(n float64) {
	time.Sleep(time.Duration(n*float64(w.ttl)) + w.ttl/97)
}

// ended waits for the end of the lease, and checks what is told of it.
func (w *world) ended(l *client.Lease, why error) {
	w.Helper()
	select {
	case <-l.Context().Done():
	case <-time.After(patience):
		w.Fatal("the lease does not end")
	}
	if l.Context().Err() == nil {
		w.Error("Done is closed, but Err is nil")
	}
	w.fails(context.Cause(l.Context()), why, l.Key())
}

// live checks that the lease has not ended.
func (w *world) live(l *client.Lease) {
	w.Helper()
	if l.Context().Err() != nil {
		w.Fatalf("the lease ended: %v", context.Cause(l.Context()))
	}
}

var sentinels = []error{
	client.ErrNotAcquired, client.ErrNotHeld, client.ErrLost, client.ErrReleased,
	client.ErrUnavailable, client.ErrRefused, client.ErrClosed, client.ErrInvalid,
}

// fails checks an error as each of the library must be: it matches want and no
// other sentinel, carries the key, and says whose it is.
func (w *world) fails(err, want error, key string) {
	w.Helper()
	var detail *client.Error
	switch {
	case err == nil:
		w.Errorf("no error, want %v", want)
		return
	case !errors.As(err, &detail) || detail.Key != key:
		w.Errorf("the error does not carry the key %q: %#v", key, err)
	case !strings.HasPrefix(err.Error(), "holdfast: ") || !strings.Contains(err.Error(), strconv.Quote(key)):
		w.Errorf("the text does not name the library and %q: %s", key, err)
	}
	for _, s := range sentinels {
		if errors.Is(err, s) != (s == want) {
			w.Errorf("error %q: matches %q: %v, want %q alone", err, s, errors.Is(err, s), want)
		}
	}
}
