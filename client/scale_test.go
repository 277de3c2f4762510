package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// goroutines counts those that run code of the client, the test's own left out.
func goroutines() (n int) {
	var b bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&b, 2)
	for g := range strings.SplitSeq(b.String(), "\n\n") {
		if strings.Contains(g, "holdfast/client.") && !strings.Contains(g, "holdfast/client_test.") {
			n++
		}
	}
	return n
}

func TestTenThousandLeasesNeedFourGoroutines(t *testing.T) {
	const leases = 10_000
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv.Addr())
	c := realClient(t, proxy.Client(t), client.WithTTL(time.Minute), client.WithRenewalInterval(5*time.Second))
	var wg sync.WaitGroup
	held := make(chan *client.Lease, leases)
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < leases; i += 16 {
				held <- must[*client.Lease](t)(c.Acquire(t.Context(), fmt.Sprint(i)))
			}
		})
	}
	wg.Wait()
	await(t, "the end of the acquires", func() bool { return goroutines() <= 2 })
	proxy.ResetStats()
	most := 0
	proxy.Await(t, "the renewal of all leases", func(s redistest.Stats) bool {
		most = max(most, goroutines())
		return s.Replies["EVALSHA"] >= leases
	})
	if most > 4 {
		t.Errorf("%d goroutines", most)
	}
	if s := proxy.Stats(); s.RoundTrips > s.Commands["EVALSHA"]/10 {
		t.Errorf("%d renewals took %d round trips", s.Commands["EVALSHA"], s.RoundTrips)
	}
	close(held)
	for l := range held {
		if l.Context().Err() != nil {
			t.Fatalf("%s: %v", l.Key(), context.Cause(l.Context()))
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_ = c.Close(ended)
	await(t, "the end of all goroutines", func() bool { return goroutines() == 0 })
}

// C097: a server that has forgotten the scripts is taught again, also in a
// pipeline, and no caller sees it.
func TestForgottenScripts(t *testing.T) {
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv.Addr())
	c := realClient(t, proxy.Client(t), client.WithTTL(900*time.Millisecond))
	forget := func() { srv.Do(t, "SCRIPT", "FLUSH") }
	ctx := t.Context()
	l := must[*client.Lease](t)(c.Acquire(ctx, "k"))
	for range 3 {
		forget()
		renewed := make(chan struct{}, 100)
		l.Observe(func(e client.Event) {
			if e.Kind == client.EventRenewed {
				renewed <- struct{}{}
			} else if e.Kind == client.EventRenewalFailed {
				t.Errorf("renewal failed: %v", e.Err)
			}
		})
		<-renewed
	}
	for _, op := range []func() error{
		func() error { return l.Extend(ctx, 2*time.Second) },
		func() error { return second(c.Inspect(ctx, "k")) },
		func() error { return l.Release(ctx) },
		func() error { return second(c.Acquire(ctx, "k")) },
		func() error { return c.Break(ctx, "k") },
	} {
		forget()
		if err := op(); err != nil {
			t.Fatal(err)
		}
	}
}

// What is stuck inside go-redis is bounded: beyond it acquires fail at once.
func TestStuckCommandsAreCapped(t *testing.T) {
	srv := redistest.Start(t)
	c := realClient(t, srv.Client(t, func(o *redis.Options) { o.PoolSize = 1000 }), client.WithCommandTimeout(5*time.Second))
	must[*client.Lease](t)(c.Acquire(t.Context(), "warm")).Release(t.Context())
	srv.Freeze()
	var refused atomic.Pointer[error]
	await(t, "a refusal", func() bool {
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				if _, err := c.Acquire(ctx, fmt.Sprint(i)); !errors.Is(err, context.DeadlineExceeded) {
					refused.Store(&err)
				}
			})
		}
		wg.Wait()
		return refused.Load() != nil
	})
	if err := *refused.Load(); !strings.Contains(err.Error(), "too many commands") || client.ErrorType(err) != "unavailable" {
		t.Fatal(err)
	}
	srv.Thaw()
	await(t, "room for commands", func() bool { return second(c.Acquire(t.Context(), "later")) == nil })
}
