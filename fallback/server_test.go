package fallback

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// fast is a breaker for real servers: its times are short, its rules the default.
var fast = BreakerConfig{OpenTimeout: 300 * time.Millisecond, ProbeInterval: 200 * time.Millisecond}

// await returns when the breaker is in the state, or fails the test.
func (r *rig) await(want State, within time.Duration) {
	r.t.Helper()
	deadline := time.After(within)
	changed := make(chan struct{}, 1)
	r.b.OnTransition(func(State, State) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	for r.b.State() != want {
		select {
		case <-changed:
		case <-deadline:
			r.t.Fatalf("breaker is %v after %v, want %v", r.b.State(), within, want)
		}
	}
}

// Against a server that is killed, frozen or behind a black hole, callers with
// 100 ms to spare open the breaker; and though nobody calls any more it closes
// when the server is back.
func TestServerOutages(t *testing.T) {
	for name, outage := range map[string]struct {
		begin, end func(*redistest.Server, *redistest.Proxy)
	}{
		"killed": {
			func(s *redistest.Server, p *redistest.Proxy) { s.Kill() },
			func(s *redistest.Server, p *redistest.Proxy) { s.Restart() },
		},
		"frozen": {
			func(s *redistest.Server, p *redistest.Proxy) { s.Freeze() },
			func(s *redistest.Server, p *redistest.Proxy) { s.Thaw() },
		},
		"black hole": {
			func(s *redistest.Server, p *redistest.Proxy) { p.Cut() },
			func(s *redistest.Server, p *redistest.Proxy) { p.Heal() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t)
			proxy := redistest.NewProxy(t, s.Addr())
			r := newRig(t, proxy, setup{breaker: fast})
			warmUp(t, r)
			outage.begin(s, proxy)
			for i := range 2 * DefaultMinRequests {
				ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
				start := time.Now()
				_, err := r.Acquire(ctx, fmt.Sprint(i))
				cancel()
				wantIs(t, err, client.ErrUnavailable)
				wantIsNot(t, err, client.ErrNotAcquired)
				if d := time.Since(start); d > time.Second {
					t.Errorf("call took %v", d)
				}
			}
			r.await(Open, 10*time.Second)
			time.Sleep(time.Second)
			if r.b.State() == Closed {
				t.Error("closed while Redis was gone")
			}
			outage.end(s, proxy)
			r.await(Closed, 10*time.Second)
			lease, err := r.try("after")
			if err != nil {
				t.Fatal(err)
			}
			if err := lease.Release(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

func warmUp(t *testing.T, r *rig) {
	t.Helper()
	lease, err := r.try("warm")
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// A storm of callers who cancel in flight leaves the breaker of a healthy server
// closed.
func TestServerCancelStorm(t *testing.T) {
	s := redistest.Start(t)
	proxy := redistest.NewProxy(t, s.Addr())
	r := newRig(t, proxy, setup{breaker: fast, options: patient})
	warmUp(t, r)
	proxy.Delay(20 * time.Millisecond)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			time.AfterFunc(time.Duration(i%40)*time.Millisecond, cancel)
			if lease, err := r.Acquire(ctx, fmt.Sprint(i)); err == nil {
				lease.Release(context.Background())
			}
		})
	}
	wg.Wait()
	proxy.Delay(0)
	warmUp(t, r)
	if n := len(r.logs.with("circuit breaker open")); n != 0 {
		t.Errorf("the breaker opened %d times", n)
	}
	r.wantState(Closed)
}

// C108: the server is killed while 20 wait for a lock that is held. With the
// fallback off they fail, with it on they get degraded leases one after the other;
// none of them waits for long.
func TestServerKilledUnderWaiters(t *testing.T) {
	for name, p := range map[string]Policies{"default": {}, "local": atOnce} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t)
			config := fast
			config.FailureRatio = 0.001 // each of them fails once, after many polls
			r := newRig(t, redistest.NewProxy(t, s.Addr()), setup{breaker: config, policies: p, options: shortTTL})
			other := newRig(t, redistest.NewProxy(t, s.Addr()), setup{options: shortTTL})
			for i := range 20 {
				if _, err := other.try(fmt.Sprint(i)); err != nil {
					t.Fatal(err)
				}
			}
			var wg sync.WaitGroup
			var degraded atomic.Int32
			for i := range 20 {
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					lease, err := r.Acquire(ctx, fmt.Sprint(i))
					if err != nil {
						wantIs(t, err, client.ErrUnavailable)
						wantIsNot(t, err, client.ErrNotAcquired, context.DeadlineExceeded)
						return
					}
					if !lease.Degraded() {
						t.Error("the lease is not degraded")
					}
					degraded.Add(1)
					lease.Release(context.Background())
				})
			}
			r.proxy.Await(t, "attempts", func(st redistest.Stats) bool { return st.Replies["EVALSHA"] > 20 })
			start := time.Now()
			s.Kill()
			wg.Wait()
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("they waited for %v", d)
			}
			if n := degraded.Load(); (n > 0) != (p.Default != nil) {
				t.Errorf("%d got a degraded lease", n)
			}
		})
	}
}

// C110 on a real server: the caller of a trial leaves while the server is frozen,
// and the breaker is closed soon after the server goes on.
func TestServerTrialCancelled(t *testing.T) {
	s := redistest.Start(t)
	config := fast
	config.ProbeInterval = never
	r := newRig(t, redistest.NewProxy(t, s.Addr()), setup{breaker: config})
	warmUp(t, r)
	s.Freeze()
	r.trip()
	var err error
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		if _, err = r.Acquire(ctx, "k"); !errors.As(err, new(*OpenError)) {
			cancel()
			break
		}
		<-ctx.Done()
		cancel()
	}
	wantIs(t, err, client.ErrUnavailable, context.DeadlineExceeded)
	s.Thaw()
	deadline := time.Now().Add(config.OpenTimeout + 10*time.Second)
	for {
		if lease, err := r.try("other"); err == nil {
			lease.Release(context.Background())
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no trial was let through")
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.wantState(Closed)
}

// C114: a crowd goes on through freezes of the server, and after each the breaker
// closes.
func TestServerCycles(t *testing.T) {
	callers, cycles, frozen := 30, 2, 1500*time.Millisecond
	if os.Getenv("HOLDFAST_SOAK") != "" {
		callers, cycles, frozen = 200, 10, 3*time.Second
	}
	s := redistest.Start(t)
	config := fast
	config.Window = time.Second // in that of the default successes would outnumber failures to the end
	config.Logger = slog.New(slog.DiscardHandler)
	r := newRig(t, redistest.NewProxy(t, s.Addr()), setup{breaker: config,
		options: []client.Option{client.WithCommandTimeout(300 * time.Millisecond)},
		redis:   func(o *redis.Options) { o.PoolSize = 300 }}) // a pool that is exhausted tells nothing
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				call, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
				lease, err := r.Acquire(call, fmt.Sprint(i))
				cancel()
				// What an attempt left behind that nobody heard of is in the way for a while.
				if err != nil && !errors.Is(err, client.ErrNotAcquired) {
					wantIs(t, err, client.ErrUnavailable)
				}
				lease.Release(ctx)
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	for range cycles {
		time.Sleep(500 * time.Millisecond)
		s.Freeze()
		time.Sleep(frozen)
		s.Thaw()
		r.await(Closed, 10*time.Second)
	}
	cancel()
	wg.Wait()
	if r.b.OpenTime() == 0 {
		t.Error("the breaker never opened")
	}
}
