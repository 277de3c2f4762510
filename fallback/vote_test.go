package fallback

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// Commands other than acquires help to open the breaker, and not to close it.
func TestObserve(t *testing.T) {
	for _, tt := range []struct {
		name     string
		command  client.Command
		open     bool // the state before
		failures uint32
		counted  uint32
	}{
		{"renewal failed", client.Command{Op: "renew", Verdict: client.Faulty}, false, 1, 1},
		{"release failed", client.Command{Op: "release", Verdict: client.Faulty}, false, 1, 1},
		{"clean-up failed", client.Command{Op: "cleanup", Verdict: client.Faulty}, false, 1, 1},
		{"inspect failed", client.Command{Op: "inspect", Verdict: client.Faulty}, false, 1, 1},
		{"renewal passed", client.Command{Op: "renew", Verdict: client.Healthy}, false, 0, 1},
		{"a read that passed", client.Command{Op: "inspect", Verdict: client.Healthy}, false, 0, 0},
		{"refused", client.Command{Op: "release", Verdict: client.Neutral}, false, 0, 0},
		{"an acquire votes by its settlement", client.Command{Op: "acquire", Verdict: client.Faulty}, false, 0, 0},
		{"while open", client.Command{Op: "renew", Verdict: client.Healthy}, true, 0, 0},
		{"failed while open", client.Command{Op: "renew", Verdict: client.Faulty}, true, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newSim(t, setup{breaker: BreakerConfig{ProbeInterval: never}})
				want := Closed
				if tt.open {
					r.trip()
					time.Sleep(DefaultOpenTimeout + time.Millisecond)
					want = Open
				}
				r.b.observe(tt.command)
				r.wantState(want)
				c := r.b.cb.Counts()
				if c.TotalFailures != tt.failures || c.TotalFailures+c.TotalSuccesses != tt.counted {
					t.Errorf("counts are %+v", c)
				}
			})
		})
	}
}

// Renewals of a lease that is held open the breaker, though nobody acquires.
func TestRenewalsOpenIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{breaker: BreakerConfig{ProbeInterval: never, Window: time.Minute}})
		lease, err := r.try("k", client.WithTTL(31*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		r.proxy.Cut()
		<-lease.Context().Done()
		wantIs(t, context.Cause(lease.Context()), client.ErrLost)
		r.wantState(Open)
		r.proxy.Heal()
	})
}

// Renewals and releases are never refused, and pass on a breaker that is open.
func TestOpenBreakerRefusesNoRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, sim := newSim(t, setup{breaker: BreakerConfig{ProbeInterval: never}})
		lease, err := r.try("k", client.WithTTL(3*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		r.trip()
		time.Sleep(10 * time.Second)
		if err := lease.Context().Err(); err != nil {
			t.Fatalf("not renewed: %v", context.Cause(lease.Context()))
		}
		if err := lease.Release(context.Background()); err != nil {
			t.Fatal(err)
		}
		if sim.Miniredis().Exists("holdfast:{k}") {
			t.Error("the key was not released")
		}
		r.wantState(Open)
	})
}
