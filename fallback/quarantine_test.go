package fallback

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/redis/go-redis/v9"
)

// Nothing is granted locally before MaxTTL has passed since the breaker opened.
func TestQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: quarantine, options: shortTTL})
		r.down()
		r.trip()
		opened := r.b.Since()
		time.Sleep(maxTTL - 500*time.Millisecond)
		_, err := r.try("k") // on trial
		wantIs(t, err, client.ErrUnavailable)
		wantIsNot(t, err, client.ErrNotAcquired)
		_, err = r.try("k")
		wantIs(t, err, client.ErrUnavailable)
		wantIsNot(t, err, client.ErrNotAcquired)
		if !strings.Contains(err.Error(), `; class "default" is granted in this process once Redis has been silent for 20s, `) ||
			strings.Count(err.Error(), "acquire") != 1 {
			t.Errorf("text is %q", err)
		}
		if !errors.As(err, new(*OpenError)) || client.OutcomeOf(err) != client.OutcomeRejected {
			t.Errorf("outcome of %v is %v", err, client.OutcomeOf(err))
		}
		time.Sleep(time.Until(opened.Add(maxTTL)))
		lease, err := r.try("k")
		if err != nil {
			t.Fatal(err)
		}
		if !lease.Degraded() {
			t.Error("lease is not degraded")
		}
		lease.Release(context.Background())
		r.up()
	})
}

// Any answer starts it anew: that of a trial, of a probe, of a renewal, an error
// reply.
func TestQuarantineRestarts(t *testing.T) {
	config := BreakerConfig{OpenTimeout: time.Second, ProbeInterval: never}
	for _, tt := range []struct {
		name    string
		breaker BreakerConfig
		answer  func(r *rig)
	}{
		{"renewal", config, func(r *rig) { r.b.observe(client.Command{Op: "renew", Verdict: client.Healthy}) }},
		{"read", config, func(r *rig) { r.b.observe(client.Command{Op: "inspect", Verdict: client.Healthy}) }},
		{"one trial of several", BreakerConfig{OpenTimeout: time.Second, ProbeInterval: never, HalfOpenRequests: 2}, func(r *rig) {
			r.up()
			if _, err := r.try("other", client.WithoutRenewal()); err != nil {
				r.t.Fatal(err)
			}
			r.wantState(HalfOpen)
			r.down()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newSim(t, setup{breaker: tt.breaker, policies: quarantine, options: shortTTL})
				r.down()
				r.trip()
				time.Sleep(maxTTL / 2)
				tt.answer(r)
				time.Sleep(maxTTL - 100*time.Millisecond)
				_, err := r.try("k")
				wantIs(t, err, client.ErrUnavailable)
				time.Sleep(100 * time.Millisecond)
				lease, err := r.try("k")
				if err != nil {
					t.Fatal(err)
				}
				lease.Release(context.Background())
				r.up()
			})
		})
	}
	// A server that answers, though it cannot work, never lets it end.
	for name, breaker := range map[string]BreakerConfig{
		"probes are answered LOADING": {OpenTimeout: time.Hour},
		"trials are answered LOADING": {OpenTimeout: 3 * time.Second, ProbeInterval: never},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, sim := newSim(t, setup{breaker: breaker, policies: quarantine, options: shortTTL,
					redis: func(o *redis.Options) { o.MaxRetries = -1 }})
				warm(t, r, 1)
				sim.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
				r.trip()
				for range 60 {
					time.Sleep(time.Second)
					_, err := r.try("k")
					wantIs(t, err, client.ErrUnavailable)
				}
				sim.Miniredis().SetError("")
			})
		})
	}
}

// Each outage has a quarantine of its own.
func TestQuarantineOfEachOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: quarantine, options: shortTTL})
		for range 2 {
			r.down()
			r.trip()
			time.Sleep(maxTTL - 100*time.Millisecond)
			_, err := r.try("k")
			wantIs(t, err, client.ErrUnavailable)
			time.Sleep(100 * time.Millisecond)
			lease, err := r.try("k")
			if err != nil {
				t.Fatal(err)
			}
			lease.Release(context.Background())
			r.up()
			time.Sleep(10 * time.Second)
			r.wantState(Closed)
		}
	})
}

// Acquire waits for the end of the quarantine, and the one who waited longest gets
// the lock.
func TestAcquireWaitsOutQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: quarantine, options: shortTTL})
		r.down()
		r.trip()
		start := time.Now()
		time.Sleep(time.Second)
		lease, err := r.Acquire(context.Background(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); !lease.Degraded() || d != maxTTL {
			t.Errorf("after %v, degraded %v", d, lease.Degraded())
		}
		if left := time.Until(lease.Deadline()); left != ttl {
			t.Errorf("%v to the deadline", left)
		}
		lease.Release(context.Background())
	})
}

func TestAcquireWaitsThroughAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: quarantine, options: shortTTL})
		r.down()
		r.trip()
		start := time.Now()
		time.AfterFunc(7*time.Second, func() { r.b.observe(client.Command{Op: "renew", Verdict: client.Healthy}) })
		lease, err := r.Acquire(context.Background(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != maxTTL+7*time.Second {
			t.Errorf("after %v", d)
		}
		lease.Release(context.Background())
	})
}

// When Redis is back first, those who wait go to Redis.
func TestAcquireWaitsForRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: quarantine, options: shortTTL})
		r.down()
		r.trip()
		time.AfterFunc(7*time.Second, r.up)
		start := time.Now()
		lease, err := r.Acquire(context.Background(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); lease.Degraded() || d < 7*time.Second || d > 9*time.Second {
			t.Errorf("after %v, degraded %v", d, lease.Degraded())
		}
		if n := len(r.logs.with("degraded")); n != 0 {
			t.Errorf("%d lines of log on degraded mode", n)
		}
		lease.Release(context.Background())
	})
}

// A caller who leaves meanwhile learns of both: the outage and the context.
func TestAcquireLeavesQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: quarantine, options: shortTTL})
		r.down()
		r.trip()
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, err := r.Acquire(ctx, "k")
		wantIs(t, err, client.ErrUnavailable, context.DeadlineExceeded)
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("after %v", d)
		}
		time.AfterFunc(2*time.Second, func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			r.Close(ctx)
		})
		_, err = r.Acquire(context.Background(), "k")
		wantIs(t, err, client.ErrClosed)
		wantIsNot(t, err, client.ErrUnavailable)
	})
}

// The wait is over when it is by both clocks: the monotonic one stands still while
// the machine sleeps, and the wall clock can be set.
func TestQuarantineByBothClocks(t *testing.T) {
	began := instantNow()
	at := func(mono, wall time.Duration) instant {
		return instant{mono: began.mono.Add(mono), wall: began.wall.Add(wall)}
	}
	const d = 10 * time.Second
	for _, tt := range []struct {
		name       string
		mono, wall time.Duration
		left       time.Duration
	}{
		{"begun", 0, 0, d},
		{"under way", 3 * time.Second, 3 * time.Second, 7 * time.Second},
		{"machine slept for an hour", 3 * time.Second, time.Hour, 7 * time.Second},
		{"wall clock was set forward", 3 * time.Second, 2 * d, 7 * time.Second},
		{"wall clock was set back", 12 * time.Second, 4 * time.Second, 6 * time.Second},
		{"over", d, d, 0},
		{"over for long", 2 * d, 3 * d, -d},
	} {
		if got := began.left(at(tt.mono, tt.wall), d); got != tt.left {
			t.Errorf("%s: %v left, want %v", tt.name, got, tt.left)
		}
	}
	if began.wall.String() != began.mono.Round(0).String() || strings.Contains(began.wall.String(), "m=") {
		t.Errorf("instants are %v and %v", began.mono, began.wall)
	}
}
