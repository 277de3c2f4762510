package fallback

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// ncps: a lease is released where it was granted, whatever the breaker says by
// then, and does not block the next one.
func TestReleaseGoesWhereItWasGranted(t *testing.T) {
	ctx := context.Background()
	t.Run("degraded, released after recovery", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, sim := newSim(t, setup{policies: atOnce, options: shortTTL})
			r.down()
			r.trip()
			lease, err := r.try("k", client.WithTTL(maxTTL))
			if err != nil {
				t.Fatal(err)
			}
			r.up()
			time.Sleep(5 * time.Second)
			r.wantState(Closed)
			_, err = r.try("k")
			wantIs(t, err, client.ErrNotAcquired) // never twice in a process
			if lease.Degraded() || !sim.Miniredis().Exists("holdfast:{k}") {
				t.Error("the lease was not promoted")
			}
			if err := lease.Release(ctx); err != nil {
				t.Error(err)
			}
			if sim.Miniredis().Exists("holdfast:{k}") {
				t.Error("the key was left in Redis")
			}
			next, err := r.try("k")
			if err != nil {
				t.Fatal(err)
			}
			if next.Degraded() || !sim.Miniredis().Exists("holdfast:{k}") {
				t.Error("the next lease is not in Redis")
			}
			if err := next.Release(ctx); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("from Redis, released while degraded", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, sim := newSim(t, setup{policies: atOnce, options: shortTTL})
			lease, err := r.try("k")
			if err != nil {
				t.Fatal(err)
			}
			r.trip()
			_, err = r.try("k")
			wantIs(t, err, client.ErrNotAcquired)
			if err := lease.Release(ctx); err != nil {
				t.Error(err)
			}
			if sim.Miniredis().Exists("holdfast:{k}") {
				t.Error("the key was left in Redis")
			}
			next, err := r.try("k")
			if err != nil {
				t.Fatal(err)
			}
			if !next.Degraded() {
				t.Error("the next lease is not degraded")
			}
			next.Release(ctx)
		})
	})
	t.Run("degraded after an attempt whose reply was lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, sim := newSim(t, setup{policies: atOnce, options: shortTTL,
				breaker: BreakerConfig{ProbeInterval: never, MinRequests: 1, FailureRatio: 0.1},
				redis:   func(o *redis.Options) { o.MaxRetries = -1 }})
			warm(t, r, 1)
			r.proxy.DropReplies(1)
			lease, err := r.try("k")
			if err != nil {
				t.Fatal(err)
			}
			if !lease.Degraded() || !sim.Miniredis().Exists("holdfast:{k}") {
				t.Fatal("the attempt was not granted in Redis")
			}
			if err := lease.Release(ctx); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
			if sim.Miniredis().Exists("holdfast:{k}") {
				t.Error("the key was left in Redis")
			}
		})
	})
}

// ncps: over every change of mode one holder at most is inside the process.
func TestOneHolderOverChangesOfMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{
			policies: atOnce, options: append(shortTTL, client.WithCommandTimeout(203*time.Millisecond)),
			breaker: BreakerConfig{Window: time.Second, OpenTimeout: 307 * time.Millisecond, ProbeInterval: 211 * time.Millisecond},
		})
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		var inside atomic.Int32
		var modes [2]atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for ctx.Err() == nil {
					lease, err := r.Acquire(ctx, "k")
					if err != nil {
						time.Sleep(31 * time.Millisecond)
						continue
					}
					if inside.Add(1) > 1 {
						t.Error("two holders in one process")
					}
					mode := 0
					if lease.Degraded() {
						mode = 1
					}
					modes[mode].Add(1)
					time.Sleep(97 * time.Millisecond)
					inside.Add(-1)
					lease.Release(ctx)
				}
			})
		}
		for range 4 {
			time.Sleep(1501 * time.Millisecond)
			r.down()
			time.Sleep(2003 * time.Millisecond)
			r.up()
		}
		wg.Wait()
		if modes[0].Load() < 10 || modes[1].Load() < 10 {
			t.Errorf("%d leases from Redis, %d degraded", modes[0].Load(), modes[1].Load())
		}
	})
}

// C104: contention is no outage, so no degraded lease is handed out while Redis
// works, however short the callers' deadlines are.
func TestContentionNeverDegrades(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoProcesses(t, atOnce)
		lease, err := a.try("k")
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			ctx, cancel := context.WithTimeout(context.Background(), 503*time.Millisecond)
			got, err := b.Acquire(ctx, "k")
			cancel()
			if got != nil {
				t.Fatal("got a lease")
			}
			wantIs(t, err, client.ErrNotAcquired, context.DeadlineExceeded)
			wantIsNot(t, err, client.ErrUnavailable)
			b.wantState(Closed)
		}
		if err := lease.Release(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// C105: cut off from Redis while another process holds the lock. By default that
// is an error. Where the class was told to, it splits, and says so.
func TestCutOff(t *testing.T) {
	for name, p := range map[string]Policies{"default": {}, "local": atOnce} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := twoProcesses(t, p)
				lease, err := a.try("k")
				if err != nil {
					t.Fatal(err)
				}
				b.down()
				var got *client.Lease
				for range DefaultMinRequests {
					if got, err = b.try("k"); err == nil {
						break
					}
					wantIs(t, err, client.ErrUnavailable)
					wantIsNot(t, err, client.ErrNotAcquired)
				}
				switch n := len(b.logs.with("WARN holdfast: degraded mode")); {
				case p.Default == nil && (got != nil || n != 0):
					t.Errorf("got lease %v, %d lines of log", got, n)
				case p.Default != nil && (!got.Degraded() || n != 1):
					t.Errorf("degraded is %v, %d lines of log", got.Degraded(), n)
				}
				got.Release(context.Background())
				if n := len(b.logs.with("circuit breaker open")); n != 1 {
					t.Errorf("%d lines of log on the breaker", n)
				}
				a.wantState(Closed)
				if err := lease.Release(context.Background()); err != nil {
					t.Error(err)
				}
				b.up()
			})
		})
	}
}

// With the quarantine, two processes that are cut off at one time never hold a lock
// together, be it that one got it from Redis just before.
func TestQuarantineKeepsProcessesApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoProcesses(t, quarantine)
		lease, err := a.try("k", client.WithTTL(maxTTL))
		if err != nil {
			t.Fatal(err)
		}
		a.down()
		b.down()
		b.trip()
		got, err := b.Acquire(context.Background(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if lease.Context().Err() == nil {
			t.Error("both hold the lock")
		}
		got.Release(context.Background())
		a.up()
		b.up()
	})
}

// twoProcesses are two rigs with ways of their own to one Redis.
func twoProcesses(t *testing.T, p Policies) (a, b *rig) {
	t.Helper()
	s := setup{policies: p, options: shortTTL}
	a, sim := newSim(t, s)
	b = newRig(t, sim.Proxy(), simOptions(s))
	return a, b
}

// C108: Redis is down when the Client is made, and nobody waits for it. With the
// fallback on work goes on once the breaker has seen enough.
func TestDownAtStart(t *testing.T) {
	for name, p := range map[string]Policies{"default": {}, "local": atOnce} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim := redistest.NewSim(t)
				proxy := sim.Proxy()
				proxy.Cut()
				start := time.Now()
				r := newRig(t, proxy, simOptions(setup{policies: p, options: shortTTL}))
				if d := time.Since(start); d != 0 {
					t.Errorf("New took %v", d)
				}
				var wg sync.WaitGroup
				var degraded, failed atomic.Int32
				for i := range 20 {
					wg.Go(func() {
						lease, err := r.Acquire(context.Background(), fmt.Sprint(i))
						if err != nil {
							wantIs(t, err, client.ErrUnavailable)
							failed.Add(1)
							return
						}
						if !lease.Degraded() {
							t.Error("the lease is not degraded")
						}
						degraded.Add(1)
						lease.Release(context.Background())
					})
				}
				wg.Wait()
				if d := time.Since(start); d > 2*client.DefaultCommandTimeout {
					t.Errorf("the calls took %v", d)
				}
				if p.Default == nil && degraded.Load() != 0 || p.Default != nil && degraded.Load() < 20-DefaultMinRequests {
					t.Errorf("%d degraded, %d failed", degraded.Load(), failed.Load())
				}
				proxy.Heal()
			})
		})
	}
}
