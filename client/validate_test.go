package client_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/redis/go-redis/v9"
)

// C130, C131, C132, C135: bad input is refused before anything is written, and the
// error names what is wrong.
func TestBadOptionsOfAnAcquireAreRefusedBeforeAnythingIsWritten(t *testing.T) {
	simulate(t, func(w *world) {
		c, before := w.client(), w.m.CommandCount()
		for name, tc := range map[string]struct {
			key  string
			opts []client.AcquireOption
			text []string
		}{
			"zero TTL":            {"k", []client.AcquireOption{client.WithTTL(0)}, []string{"TTL"}},
			"negative TTL":        {"k", []client.AcquireOption{client.WithTTL(-time.Second)}, []string{"TTL", "-1s"}},
			"sub-millisecond":     {"k", []client.AcquireOption{client.WithTTL(500 * time.Microsecond)}, []string{"TTL", "1ms"}},
			"overflow":            {"k", []client.AcquireOption{client.WithTTL(math.MaxInt64)}, []string{"TTL"}},
			"renewal too late":    {"k", []client.AcquireOption{client.WithTTL(time.Second), client.WithRenewalInterval(time.Second)}, []string{"renewal interval", "TTL"}},
			"renewal after TTL":   {"k", []client.AcquireOption{client.WithTTL(time.Second), client.WithRenewalInterval(1200 * time.Millisecond)}, []string{"renewal interval", "TTL"}},
			"renewal too tight":   {"k", []client.AcquireOption{client.WithTTL(time.Second), client.WithRenewalInterval(900 * time.Millisecond)}, []string{"renewal interval", "TTL"}},
			"no renewal interval": {"k", []client.AcquireOption{client.WithRenewalInterval(0)}, []string{"renewal interval"}},
			"both":                {"k", []client.AcquireOption{client.WithRenewalInterval(time.Second), client.WithoutRenewal()}, []string{"WithoutRenewal"}},
			"empty class":         {"k", []client.AcquireOption{client.WithClass("")}, []string{"class"}},
			"negative wait":       {"k", []client.AcquireOption{client.WithWaitTimeout(-1)}, []string{"wait timeout"}},
			"negative max hold":   {"k", []client.AcquireOption{client.WithMaxHold(-1)}, []string{"max hold"}},
			"negative min hold":   {"k", []client.AcquireOption{client.WithMinHold(-1)}, []string{"min hold"}},
			"empty owner":         {"k", []client.AcquireOption{client.WithOwner("")}, []string{"owner"}},
			"long owner":          {"k", []client.AcquireOption{client.WithOwner(strings.Repeat("o", 65))}, []string{"owner", "64"}},
			"owner and context":   {"k", []client.AcquireOption{client.WithOwner("o"), client.Reentrant()}, []string{"WithOwner", "Reentrant"}},
			"nil option":          {"k", []client.AcquireOption{nil}, []string{"option 0"}},
			"empty key":           {"", nil, []string{"key is empty"}},
			"long key":            {strings.Repeat("k", 4097), nil, []string{"4096"}},
		} {
			for _, acquire := range []func(context.Context, string, ...client.AcquireOption) (*client.Lease, error){c.Acquire, c.TryAcquire} {
				l, err := acquire(w.ctx, tc.key, tc.opts...)
				if l != nil || !errors.Is(err, client.ErrInvalid) || errors.Is(err, client.ErrUnavailable) {
					t.Errorf("%s: %v", name, err)
					continue
				}
				for _, s := range append(tc.text, "holdfast: ") {
					if !strings.Contains(err.Error(), s) {
						t.Errorf("%s: %q does not name %q", name, err, s)
					}
				}
			}
		}
		if n := w.m.CommandCount() - before; n != 0 {
			t.Errorf("%d commands were sent", n)
		}
	})
}

func TestGoodTTLsReachRedis(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithoutRenewal())
		for ttl, want := range map[time.Duration]time.Duration{
			500 * time.Millisecond:  500 * time.Millisecond,
			1500 * time.Millisecond: 1500 * time.Millisecond,
			1500 * time.Microsecond: 2 * time.Millisecond, // rounded up, and the deadline is not
			time.Hour:               time.Hour,
		} {
			l := must[*client.Lease](t)(c.Acquire(w.ctx, ttl.String(), client.WithTTL(ttl)))
			if got := w.m.TTL("holdfast:{" + ttl.String() + "}"); got != want {
				t.Errorf("TTL %v became %v", ttl, got)
			}
			if left := time.Until(l.Deadline()); left >= ttl || left < ttl*8/10 {
				t.Errorf("TTL %v: deadline in %v", ttl, left)
			}
		}
	})
}

func TestBadOptionsOfAClientAreRefused(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	var none *redis.Client
	for name, err := range map[string]error{
		"nil client":       second(client.New(nil)),
		"typed nil client": second(client.New(none)),
		"nil option":       second(client.New(rdb, nil)),
		"TTL":              second(client.New(rdb, client.WithTTL(-1))),
		"TTL and interval": second(client.New(rdb, client.WithTTL(time.Second), client.WithRenewalInterval(time.Second))),
		"order":            second(client.New(rdb, client.WithRenewalInterval(time.Second), client.WithTTL(time.Second))),
		"nil middleware":   second(client.New(rdb, client.WithMiddleware(nil))),
		"nameless layer":   second(client.New(rdb, client.WithLayer("", client.Chain()))),
		"braces in prefix": second(client.New(rdb, client.WithPrefix("{app}"))),
		"long prefix":      second(client.New(rdb, client.WithPrefix(strings.Repeat("p", 257)))),
		"empty identity":   second(client.New(rdb, client.WithIdentity(""))),
		"odd identity":     second(client.New(rdb, client.WithIdentity(strings.Repeat("\n", 22)))),
		"gate":             second(client.New(rdb, client.WithGate(""))),
		"nil on close":     second(client.New(rdb, client.WithOnClose(nil))),
		"command timeout":  second(client.New(rdb, client.WithCommandTimeout(0))),
		"long command":     second(client.New(rdb, client.WithCommandTimeout(math.MaxInt64))),
		"no handler":       second(client.New(rdb, client.WithMiddleware(func(client.Handler) client.Handler { return nil }))),
		"nil builder":      second(client.New(rdb, client.WithPipeline(nil))),
		"lost extension":   second(client.New(rdb, client.WithExtension(1))),
	} {
		if !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c, err := client.New(rdb, client.WithLogger(nil), client.WithoutRenewal()); err != nil || c == nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestBadExtendIsRefused(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(10*time.Second), client.WithRenewalInterval(2*time.Second))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		n := w.m.CommandCount()
		for _, ttl := range []time.Duration{0, -1, time.Microsecond, math.MaxInt64, 2 * time.Second} {
			if err := l.Extend(w.ctx, ttl); !errors.Is(err, client.ErrInvalid) {
				t.Errorf("Extend(%v): %v", ttl, err)
			}
		}
		if w.m.CommandCount() != n {
			t.Error("something was sent")
		}
	})
}

// C010
func TestNilLease(t *testing.T) {
	for _, l := range []*client.Lease{nil, {}} {
		testNoLease(t, l)
	}
}

func testNoLease(t *testing.T, l *client.Lease) {
	ctx := context.Background()
	if err := l.Release(ctx); !errors.Is(err, client.ErrNotHeld) {
		t.Error(err)
	}
	if err := l.Extend(ctx, time.Second); !errors.Is(err, client.ErrNotHeld) {
		t.Error(err)
	}
	l.Observe(func(client.Event) { t.Error("called") })
	if _, ok := l.Fence(); ok || l.Key() != "" || l.Token() != "" || l.Class() != "" || l.Degraded() || !l.Deadline().IsZero() {
		t.Error("not the zero values")
	}
	if l.Context().Err() == nil {
		t.Error("a nil lease is live")
	}
}
