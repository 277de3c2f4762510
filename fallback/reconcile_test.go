package fallback

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// An unknown promotion is repeated until it is known: at once where only a reply was
// lost, and at the next recovery where Redis has gone again.
func TestPromotionUnknown(t *testing.T) {
	once := func(o *redis.Options) { o.MaxRetries = -1 }
	t.Run("a reply is lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, _ := newSim(t, setup{policies: atOnce, options: shortTTL, redis: once})
			r.down()
			r.trip()
			lease, err := r.try("k", client.WithTTL(maxTTL))
			if err != nil {
				t.Fatal(err)
			}
			r.proxy.DropReplies(2)
			r.up()
			time.Sleep(5 * time.Second)
			r.wantState(Closed)
			if lease.Degraded() || len(r.logs.with("circuit breaker open")) != 1 {
				t.Errorf("degraded %v, logged %v", lease.Degraded(), r.logs.with("breaker"))
			}
			lease.Release(context.Background())
		})
	})
	t.Run("Redis has gone again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, sim := newSim(t, setup{policies: atOnce, options: shortTTL, redis: once})
			warm(t, r, 1)
			r.down()
			r.trip()
			lease, err := r.try("k", client.WithTTL(maxTTL))
			if err != nil {
				t.Fatal(err)
			}
			r.proxy.HoldReplies(redistest.Command.Script)
			r.up()
			time.Sleep(6 * time.Second)
			if r.b.State() == Closed || !lease.Degraded() || lease.Context().Err() != nil || !sim.Miniredis().Exists("holdfast:{k}") {
				t.Fatalf("breaker %v, degraded %v", r.b.State(), lease.Degraded())
			}
			other, err := r.try("other")
			if err != nil || !other.Degraded() {
				t.Errorf("it is no longer degraded: %v", err)
			}
			other.Release(context.Background())
			r.proxy.ReleaseReplies()
			time.Sleep(8 * time.Second)
			if r.b.State() != Closed || lease.Degraded() {
				t.Errorf("breaker %v, degraded %v", r.b.State(), lease.Degraded())
			}
			lease.Release(context.Background())
			r.wantLedger(0)
		})
	})
}

// Attempts on trial wait until degraded leases have been promoted, so the prober alone
// finds out that Redis is back.
func TestTrialsAreHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: atOnce, options: shortTTL, breaker: BreakerConfig{ProbeInterval: never}})
		r.trip() // Redis is there
		lease, err := r.try("k")
		if err != nil {
			t.Fatal(err)
		}
		r.proxy.ResetStats()
		time.Sleep(DefaultOpenTimeout + time.Second)
		second, err := r.try("k2")
		if err != nil || !second.Degraded() || r.scripts() != 0 {
			t.Errorf("got %v, %d scripts", err, r.scripts())
		}
		lease.Release(context.Background())
		second.Release(context.Background())
		third, err := r.try("k2") // on trial
		if err != nil || third.Degraded() {
			t.Errorf("got %v", err)
		}
		third.Release(context.Background())
		r.wantState(Closed)
	})
}

// Where an outage begins soon after the last one, one probe that passes is not enough.
func TestFlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: atOnce, options: shortTTL, breaker: BreakerConfig{OpenTimeout: 100 * time.Millisecond}})
		r.trip()
		time.Sleep(1300 * time.Millisecond)
		r.wantState(Closed)
		r.trip()
		_, err := r.try("k") // no trial, though the open timeout may have passed
		if err != nil {
			t.Fatal(err)
		}
		probes := r.probes()
		for r.b.State() != Closed {
			time.Sleep(10 * time.Millisecond)
		}
		if n := r.probes() - probes; n != flapProbes {
			t.Errorf("closed after %d probes", n)
		}
		time.Sleep(time.Minute)
		r.trip()
		probes = r.probes()
		for r.b.State() != Closed {
			time.Sleep(10 * time.Millisecond)
		}
		if n := r.probes() - probes; n != 1 {
			t.Errorf("long after it closed after %d probes", n)
		}
	})
}

// A lease that Redis granted before the outage is never a degraded one: it keeps its
// deadline, and its next renewal confirms it, or finds that a server without data has
// lost it.
func TestLeaseOfRedisOverOutage(t *testing.T) {
	for name, restart := range map[string]bool{"with data": false, "empty": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, sim := newSim(t, setup{policies: quarantine, options: []client.Option{client.WithTTL(maxTTL)}})
				lease, err := r.try("k")
				if err != nil {
					t.Fatal(err)
				}
				fence, _ := lease.Fence()
				r.down()
				r.trip()
				time.Sleep(9 * time.Second)
				if lease.Degraded() || lease.Context().Err() != nil {
					t.Fatalf("degraded %v, ended by %v", lease.Degraded(), context.Cause(lease.Context()))
				}
				if restart {
					sim.Miniredis().FlushAll()
				}
				r.up()
				time.Sleep(10 * time.Second)
				f, ok := lease.Fence()
				switch {
				case restart:
					wantIs(t, context.Cause(lease.Context()), client.ErrLost)
				case lease.Context().Err() != nil || !ok || f != fence:
					t.Errorf("fence %d, then %d; ended by %v", fence, f, context.Cause(lease.Context()))
				}
				lease.Release(context.Background())
			})
		})
	}
}

// A process that is idle through the outage is healthy again within one probe interval.
func TestIdleProcessRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: atOnce, options: shortTTL})
		r.down()
		r.trip()
		lease, err := r.try("k", client.WithTTL(maxTTL))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Second)
		r.up()
		time.Sleep(DefaultProbeInterval*6/5 + 100*time.Millisecond)
		r.wantState(Closed)
		if lease.Degraded() {
			t.Error("the lease is degraded")
		}
		lease.Release(context.Background())
	})
}
