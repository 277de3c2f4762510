package client_test

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// C135: data that is not a lock is refused at once and left as it is.
func TestForeignDataIsRefusedAndLeftAlone(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client()
		seed := map[string]func(key string){
			"list":   func(k string) { _, _ = w.m.Push(k, "x") },
			"string": func(k string) { _ = w.m.Set(k, "x") },
			"hash":   func(k string) { w.m.HSet(k, "a", "b") },
		}
		for kind, set := range seed {
			set("holdfast:{" + kind + "}")
			before := w.m.Dump()
			for op, err := range map[string]error{
				"acquire": second(c.Acquire(w.ctx, kind)),
				"try":     second(c.TryAcquire(w.ctx, kind)),
				"break":   c.Break(w.ctx, kind),
			} {
				if !errors.Is(err, client.ErrRefused) || errors.Is(err, client.ErrNotAcquired) {
					t.Errorf("%s of a %s: %v", op, kind, err)
				}
			}
			if w.m.Dump() != before {
				t.Errorf("the %s was changed", kind)
			}
		}
	})
}

func TestForeignFenceIsRefused(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client()
		_, _ = w.m.Push("holdfast:{list}:fence", "x")
		_ = w.m.Set("holdfast:{text}:fence", "x")
		_ = w.m.Set("holdfast:{huge}:fence", "9007199254740991")
		for _, key := range []string{"list", "text", "huge"} {
			if _, err := c.Acquire(w.ctx, key); !errors.Is(err, client.ErrRefused) {
				t.Errorf("%s: %v", key, err)
			}
			if w.m.Exists("holdfast:{" + key + "}") {
				t.Errorf("%s: the lock was written all the same", key)
			}
		}
	})
}

func TestAForeignLockWithATTLIsHeld(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client()
		_ = w.m.Set("holdfast:{k}", "some other library's token")
		w.m.SetTTL("holdfast:{k}", 5*time.Second)
		var held *client.HeldError
		if _, err := c.Acquire(w.ctx, "k"); !errors.As(err, &held) || held.TTL != 5*time.Second {
			t.Fatal(err)
		}
		time.Sleep(5*time.Second + time.Millisecond)
		must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
	})
}

// C030: the fence rises with every grant, over the loss of the counter and over a
// clock that steps back, and stays over Extend.
func TestFenceRises(t *testing.T) {
	simulate(t, func(w *world) {
		a, b := w.client(), w.client()
		var last uint64
		grant := func(c *client.Client) *client.Lease {
			t.Helper()
			l := must[*client.Lease](t)(c.Acquire(w.ctx, "k", client.WithTTL(time.Second), client.WithoutRenewal()))
			f, ok := l.Fence()
			if !ok || f <= last || f >= 1<<53 {
				t.Fatalf("fence %d, %v after %d", f, ok, last)
			}
			last = f
			return l
		}
		for i := range 30 {
			l := grant([]*client.Client{a, b}[i%2])
			if err := l.Extend(w.ctx, 2*time.Second); err != nil {
				t.Fatal(err)
			}
			if f, _ := l.Fence(); f != last {
				t.Fatal("Extend changed the fence")
			}
			if i%3 == 0 {
				<-l.Context().Done() // expires
				time.Sleep(time.Second)
			} else if err := l.Release(w.ctx); err != nil {
				t.Fatal(err)
			}
		}
		_ = grant(a).Release(w.ctx)
		time.Sleep(time.Millisecond)
		w.m.Del("holdfast:{k}:fence") // the counter is lost
		_ = grant(b).Release(w.ctx)
		w.m.SetTime(time.Now().Add(-time.Hour)) // the clock steps back
		_ = grant(a).Release(w.ctx)
		_ = grant(b).Release(w.ctx)
		w.m.Del("holdfast:{k}:fence") // both at once: the client remembers
		_ = grant(b).Release(w.ctx)
	})
}

func TestTheRecordIsReadableAndSmall(t *testing.T) {
	simulate(t, func(w *world) {
		identity := strings.Repeat("i", 64)
		c := w.client(client.WithIdentity(identity), client.WithMiddleware(func(next client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				req.Call().SetTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
				return next(ctx, req)
			}
		}))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k", client.WithOwner(strings.Repeat("o", 64))))
		rec, _ := w.m.Get("holdfast:{k}")
		if len(rec) > 256 {
			t.Errorf("%d bytes: %s", len(rec), rec)
		}
		fence, _ := l.Fence()
		for _, part := range []string{"token=" + l.Token(), "fence=" + strconv.FormatUint(fence, 10), "holder=" + identity, "trace=00-4bf92f35"} {
			if !strings.Contains(rec, part) {
				t.Errorf("%s lacks %s", rec, part)
			}
		}
		if len(l.Token()) < 22 {
			t.Error("fewer than 128 bits of token")
		}
	})
}

// C015: whatever bytes an identity, an owner or a key has, they come back as they were.
func TestOddBytesSurvive(t *testing.T) {
	simulate(t, func(w *world) {
		for _, odd := range []string{"a b", "ünï", "quote\"'", "cr\r\nlf", "\x00\xff", "-", "%2D", "{a}b", "a{}b", "x}y{z", "token=x fence=1"} {
			c := w.client(client.WithIdentity(odd))
			l := must[*client.Lease](t)(c.Acquire(w.ctx, odd, client.WithOwner(odd)))
			if info := must[client.Info](t)(c.Inspect(w.ctx, odd)); info.Holder != odd || !info.Held {
				t.Errorf("%q: %+v", odd, info)
			}
			var held *client.HeldError
			if _, err := w.client().TryAcquire(w.ctx, odd); !errors.As(err, &held) || held.Holder != odd {
				t.Errorf("%q: %v", odd, err)
			}
			if err := l.Extend(w.ctx, time.Minute); err != nil {
				t.Errorf("%q: %v", odd, err)
			}
			if err := l.Release(w.ctx); err != nil {
				t.Errorf("%q: %v", odd, err)
			}
		}
		for _, k := range w.m.Keys() {
			if !strings.HasSuffix(k, "}:fence") || strings.Count(k, "{") != 1 || strings.Count(k, "}") != 1 {
				t.Errorf("key %q", k)
			}
		}
	})
}

// C158: Inspect writes nothing.
func TestInspect(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithIdentity("api-7"))
		if info := must[client.Info](t)(c.Inspect(w.ctx, "k")); !reflect.DeepEqual(info, client.Info{Key: "k"}) {
			t.Errorf("%+v", info)
		}
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k", client.WithTTL(10*time.Second)))
		before := w.m.Dump()
		info := must[client.Info](t)(c.Inspect(w.ctx, "k"))
		fence, _ := l.Fence()
		if !info.Held || info.Holder != "api-7" || info.Fence != fence || info.TTL != 10*time.Second || time.Since(info.Since).Abs() > time.Second {
			t.Errorf("%+v", info)
		}
		if w.m.Dump() != before {
			t.Error("Inspect wrote")
		}
	})
}

// C160: the old holder learns that its lock was broken, and does no harm to the next.
func TestBreak(t *testing.T) {
	simulate(t, func(w *world) {
		a, b := w.client(client.WithTTL(3*time.Second)), w.client()
		l := must[*client.Lease](t)(a.Acquire(w.ctx, "k"))
		if err := b.Break(w.ctx, "k"); err != nil {
			t.Fatal(err)
		}
		next := must[*client.Lease](t)(b.TryAcquire(w.ctx, "k"))
		<-l.Context().Done()
		if !errors.Is(l.Release(w.ctx), client.ErrNotHeld) {
			t.Error("the old holder's release")
		}
		if err := next.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		if err := b.Break(w.ctx, "k"); err != nil {
			t.Errorf("of a free lock: %v", err)
		}
	})
}
