package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// degraded is a degraded lease on k with a recorder on it.
func (w *world) degraded(c *client.Client, r *recorder, opts ...client.AcquireOption) *client.Lease {
	w.t.Helper()
	l := must[*client.Lease](w.t)(c.Acquire(w.ctx, "k", append([]client.AcquireOption{client.WithTTL(10 * time.Second)}, opts...)...))
	if !l.Degraded() {
		w.t.Fatal("not a degraded lease")
	}
	l.Observe(r.observe)
	return l
}

func (r *recorder) count(kind client.EventKind) (n int) {
	for _, k := range r.kinds() {
		if k == kind {
			n++
		}
	}
	return n
}

// A promoted lease is the same one, and in all as if Redis had granted it.
func TestPromote(t *testing.T) {
	simulate(t, func(w *world) {
		c, other := w.client(local(time.Minute)), w.client(client.WithGate("other"))
		var r recorder
		l := w.degraded(c, &r)
		time.Sleep(4 * time.Second)
		if err := client.Promote(w.ctx, l); err != nil {
			t.Fatal(err)
		}
		fence, ok := l.Fence()
		if l.Degraded() || !ok || fence == 0 || l.Context().Err() != nil {
			t.Errorf("degraded %v, fence %d %v", l.Degraded(), fence, ok)
		}
		info := must[client.Info](t)(other.Inspect(w.ctx, "k"))
		if !info.Held || info.Fence != fence || info.Holder != c.Identity() || info.TTL != 10*time.Second {
			t.Errorf("%+v", info)
		}
		if err := client.Promote(w.ctx, l); err != nil {
			t.Errorf("once more: %v", err)
		}
		time.Sleep(time.Minute)
		if l.Context().Err() != nil {
			t.Fatalf("it is not renewed: %v", context.Cause(l.Context()))
		}
		if _, err := other.TryAcquire(w.ctx, "k"); !errors.Is(err, client.ErrNotAcquired) {
			t.Error(err)
		}
		if err := l.Release(w.ctx); err != nil {
			t.Error(err)
		}
		next := must[*client.Lease](t)(other.TryAcquire(w.ctx, "k"))
		if f, _ := next.Fence(); f <= fence {
			t.Errorf("fence %d after %d", f, fence)
		}
		_ = next.Release(w.ctx)
		synctest.Wait()
		if r.count(client.EventPromoted) != 1 || r.count(client.EventEnded) != 1 {
			t.Errorf("events %+v", r.kinds())
		}
	})
}

// A lease without renewal keeps its end, and Redis keeps it till then.
func TestPromoteWithoutRenewal(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(local(10 * time.Second))
		var r recorder
		l := w.degraded(c, &r, client.WithoutRenewal())
		end := l.Deadline()
		time.Sleep(6 * time.Second)
		if err := client.Promote(w.ctx, l); err != nil {
			t.Fatal(err)
		}
		if !l.Deadline().Equal(end) {
			t.Errorf("ends %v later", l.Deadline().Sub(end))
		}
		if left := w.m.TTL("holdfast:{k}"); left < 4*time.Second {
			t.Errorf("the key has %v left", left)
		}
		<-l.Context().Done()
		if !time.Now().Equal(end) || !errors.Is(context.Cause(l.Context()), client.ErrLost) {
			t.Errorf("ended at %v by %v", time.Since(end), context.Cause(l.Context()))
		}
	})
}

// It never keeps Redis for longer than the class's bound: others count on that.
func TestPromoteHeedsMaxTTL(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(local(10 * time.Second))
		var r recorder
		l := w.degraded(c, &r)
		if err := client.Promote(w.ctx, l); err != nil {
			t.Fatal(err)
		}
		if left := w.m.TTL("holdfast:{k}"); left != 10*time.Second {
			t.Errorf("the key has %v left", left)
		}
		if left := time.Until(l.Deadline()); left > 9900*time.Millisecond {
			t.Errorf("the lease ends in %v, with its key", left)
		}
		_ = l.Release(w.ctx)
	})
}

// Another has the lock: the holder is told at once, and Redis is left alone.
func TestPromoteMeetsAnother(t *testing.T) {
	simulate(t, func(w *world) {
		c, other := w.client(local(time.Minute)), w.client(client.WithGate("other"), client.WithIdentity("pod-b"))
		var r recorder
		l := w.degraded(c, &r)
		theirs := must[*client.Lease](t)(other.TryAcquire(w.ctx, "k"))
		err := client.Promote(w.ctx, l)
		var held *client.HeldError
		if !errors.Is(err, client.ErrNotAcquired) || !errors.As(err, &held) || held.Holder != "pod-b" {
			t.Errorf("got %v", err)
		}
		var lost *client.LostError
		if !errors.As(context.Cause(l.Context()), &lost) || lost.Reason != client.EndConflict || lost.Loss != client.LossConflict {
			t.Errorf("cause %v", context.Cause(l.Context()))
		}
		if err := l.Release(w.ctx); !errors.Is(err, client.ErrNotHeld) {
			t.Error(err)
		}
		if err := theirs.Release(w.ctx); err != nil {
			t.Error(err)
		}
		if err := client.Promote(w.ctx, l); !errors.Is(err, client.ErrNotHeld) || errors.Is(err, client.ErrNotAcquired) {
			t.Errorf("of one that has ended: %v", err)
		}
	})
}

func TestPromoteRefused(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(local(time.Minute))
		var r recorder
		l := w.degraded(c, &r)
		w.rdb.SAdd(w.ctx, "holdfast:{k}", "x")
		if err := client.Promote(w.ctx, l); !errors.Is(err, client.ErrRefused) || errors.Is(err, client.ErrUnavailable) {
			t.Error(err)
		}
		if !errors.Is(context.Cause(l.Context()), client.ErrLost) {
			t.Error(context.Cause(l.Context()))
		}
	})
}

// proxied is a client of local leases whose way to Redis can be cut.
func proxied(t *testing.T) (w *world, c *client.Client, p *redistest.Proxy) {
	t.Helper()
	sim := redistest.NewSim(t)
	p = sim.Proxy()
	w = &world{t, sim.Miniredis(), p.Client(t, func(o *redis.Options) { o.MaxRetries = -1 }), t.Context()}
	return w, w.client(local(time.Minute)), p
}

// A reply that is lost leaves the outcome unknown: the lease lives on, and the next
// try finds its own grant.
func TestPromoteUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, p := proxied(t)
		var r recorder
		l := w.degraded(c, &r)
		p.DropReplies(1)
		if err := client.Promote(w.ctx, l); !errors.Is(err, client.ErrUnavailable) {
			t.Fatal(err)
		}
		if !l.Degraded() || l.Context().Err() != nil || !w.m.Exists("holdfast:{k}") {
			t.Fatal("it has not lived on, or the script did not run")
		}
		if err := client.Promote(w.ctx, l); err != nil || l.Degraded() {
			t.Fatal(err)
		}
		if err := l.Release(w.ctx); err != nil || w.m.Exists("holdfast:{k}") {
			t.Error(err)
		}
	})
}

// Released while the outcome is unknown, it goes on both sides: the token is taken out
// of Redis, and what is still under way of the promotion finds a tombstone.
func TestReleaseOfHalfPromoted(t *testing.T) {
	for name, before := range map[string]func(*redistest.Proxy){
		"reply lost":           func(p *redistest.Proxy) { p.DropReplies(1) },
		"still under way":      func(p *redistest.Proxy) { p.HoldReplies(); time.AfterFunc(3*time.Second, p.ReleaseReplies) },
		"sent and not arrived": func(p *redistest.Proxy) { p.Cut(); time.AfterFunc(3*time.Second, p.Heal) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, c, p := proxied(t)
				must[*client.Lease](t)(w.client(client.WithGate("warm")).TryAcquire(w.ctx, "warm")).Release(w.ctx)
				var r recorder
				l := w.degraded(c, &r)
				before(p)
				done := make(chan error, 1)
				go func() { done <- client.Promote(w.ctx, l) }()
				time.Sleep(100 * time.Millisecond)
				if err := l.Release(w.ctx); err != nil {
					t.Error(err)
				}
				if err := <-done; !errors.Is(err, client.ErrUnavailable) && !errors.Is(err, client.ErrNotHeld) {
					t.Error(err)
				}
				time.Sleep(5 * time.Second) // less than the TTL
				if w.m.Exists("holdfast:{k}") {
					t.Error("the lock is held by nobody")
				}
				if r.count(client.EventPromoted) != 0 {
					t.Error("a released lease was promoted")
				}
			})
		})
	}
}

// An Extend that comes in between is not cut short.
func TestExtendWhilePromoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, p := proxied(t)
		var r recorder
		l := w.degraded(c, &r, client.WithoutRenewal())
		p.HoldReplies()
		done := make(chan error, 1)
		go func() { done <- client.Promote(w.ctx, l) }()
		time.Sleep(500 * time.Millisecond)
		if err := l.Extend(w.ctx, 40*time.Second); err != nil {
			t.Error(err)
		}
		end := l.Deadline()
		p.ReleaseReplies()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if l.Deadline().Before(end.Add(-time.Millisecond)) || w.m.TTL("holdfast:{k}") < time.Until(end) {
			t.Errorf("ends %v too early, the key has %v", end.Sub(l.Deadline()), w.m.TTL("holdfast:{k}"))
		}
		_ = l.Release(w.ctx)
	})
}

// It goes before those who wait in the queue, and the minimum hold goes on from where
// it was.
func TestPromoteBarges(t *testing.T) {
	simulate(t, func(w *world) {
		c, other := w.client(local(time.Minute)), w.client(client.WithGate("other"))
		var r recorder
		l := w.degraded(c, &r, client.WithMinHold(8*time.Second))
		start := time.Now()
		w.m.ZAdd("holdfast:{k}:queue", 1, "somebody")
		w.m.HSet("holdfast:{k}:waiters", "somebody", "99999999999999 x - 0 0 id holder - channel")
		time.Sleep(5 * time.Second)
		if err := client.Promote(w.ctx, l); err != nil {
			t.Fatal(err)
		}
		w.m.Del("holdfast:{k}:queue")
		if err := l.Release(w.ctx); err != nil {
			t.Error(err)
		}
		for {
			next, err := other.TryAcquire(w.ctx, "k")
			if err == nil {
				_ = next.Release(w.ctx)
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if d := time.Since(start); d < 8*time.Second || d > 8200*time.Millisecond {
			t.Errorf("free after %v", d)
		}
	})
}

func TestPromoteAllKeys(t *testing.T) {
	simulate(t, func(w *world) {
		c, other := w.client(local(time.Minute)), w.client(client.WithGate("other"))
		l := must[*client.Lease](t)(c.AcquireAll(w.ctx, []string{"b", "a"}))
		if err := client.Promote(w.ctx, l); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"a", "b"} {
			if !must[client.Info](t)(other.Inspect(w.ctx, key)).Held {
				t.Errorf("%s is free", key)
			}
		}
		if err := l.Release(w.ctx); err != nil {
			t.Error(err)
		}
	})
}

// A lease that ends otherwise while its promotion is under way leaves no key either.
func TestEndsWhilePromoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, p := proxied(t)
		ctx, cancel := context.WithCancel(w.ctx)
		l := must[*client.Lease](t)(c.Acquire(ctx, "k", client.WithTTL(10*time.Second)))
		p.HoldReplies()
		done := make(chan error, 1)
		go func() { done <- client.Promote(w.ctx, l) }()
		time.Sleep(100 * time.Millisecond)
		cancel()
		synctest.Wait()
		p.ReleaseReplies()
		if err := <-done; !errors.Is(err, client.ErrNotHeld) {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if l.Context().Err() == nil || !l.Degraded() || w.m.Exists("holdfast:{k}") {
			t.Error("the key was left")
		}
	})
}
