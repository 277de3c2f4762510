package fallback

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// A drill is degraded mode for one class, and its end is as that of an outage.
func TestDrill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drill := new(Drill)
		r, sim := newSim(t, setup{options: shortTTL, policies: Policies{
			Classes: map[string]Policy{"a": Local{MaxTTL: maxTTL}, "b": Local{MaxTTL: maxTTL}}, Drill: drill}})
		got := r.outcomes()
		ctx, a, b := context.Background(), client.WithClass("a"), client.WithClass("b")
		if err := drill.Begin("default"); !errors.Is(err, client.ErrInvalid) || drill.Active("default") {
			t.Errorf("of a class that fails closed: %v", err)
		}
		if err := errors.Join(drill.Begin("a"), drill.Begin("a")); err != nil || !drill.Active("a") || drill.Active("b") {
			t.Fatal(err)
		}
		start := time.Now()
		_, err := r.try("k", a)
		wantIs(t, err, client.ErrUnavailable)
		if !strings.Contains(err.Error(), "a drill of degraded mode is under way") {
			t.Errorf("text is %q", err)
		}
		lease, err := r.Acquire(ctx, "k", a, client.WithTTL(maxTTL))
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); !lease.Degraded() || d != maxTTL {
			t.Errorf("degraded %v after %v", lease.Degraded(), d)
		}
		other, err := r.try("k2", b)
		if err != nil || other.Degraded() {
			t.Errorf("of another class: %v", err)
		}
		other.Release(ctx)
		r.wantState(Closed)
		drill.End("a")
		synctest.Wait()
		if _, ok := lease.Fence(); lease.Degraded() || !ok || !sim.Miniredis().Exists("holdfast:{k}") || drill.Active("a") {
			t.Error("the lease was not promoted")
		}
		next, err := r.try("k3", a)
		if err != nil || next.Degraded() {
			t.Errorf("after the drill: %v", err)
		}
		next.Release(ctx)
		lease.Release(ctx)
		drill.End("a")
		r.wantLedger(0)
		if got.String() != "[a promoted:1]" {
			t.Errorf("reconciled %v", got)
		}
		if in, out := r.logs.with("a drill begins"), r.logs.with("the drill is over"); len(in) != 1 || len(out) != 1 || !strings.Contains(out[0], "class=a grants=1 promoted=1") {
			t.Errorf("logged %v, %v", in, out)
		}
	})
}

// A drill that is to end while Redis is gone goes on until it is back.
func TestDrillEndsInOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drill := new(Drill)
		r, _ := newSim(t, setup{options: shortTTL, policies: Policies{Default: atOnce.Default, Drill: drill}})
		if err := drill.Begin("default"); err != nil {
			t.Fatal(err)
		}
		lease, err := r.try("k", client.WithTTL(maxTTL))
		if err != nil {
			t.Fatal(err)
		}
		r.down()
		drill.End("default")
		time.Sleep(5 * time.Second)
		if !lease.Degraded() || lease.Context().Err() != nil {
			t.Fatalf("degraded %v, ended by %v", lease.Degraded(), context.Cause(lease.Context()))
		}
		second, err := r.Acquire(context.Background(), "k2")
		if err != nil || !second.Degraded() {
			t.Errorf("meanwhile: %v", err)
		}
		r.up()
		time.Sleep(5 * time.Second)
		if lease.Degraded() || second.Degraded() {
			t.Error("they were not promoted")
		}
		lease.Release(context.Background())
		second.Release(context.Background())
		r.wantLedger(0)
	})
}

// Begun again before it has ended it goes on.
func TestDrillBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drill := new(Drill)
		r, _ := newSim(t, setup{options: shortTTL, policies: Policies{Default: atOnce.Default, Drill: drill}})
		ctx := context.Background()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 50 {
					if err := drill.Begin("default"); err != nil {
						t.Error(err)
					}
					lease, err := r.Acquire(ctx, "k")
					if err != nil {
						t.Error(err)
					}
					drill.End("default")
					time.Sleep(7 * time.Millisecond)
					if err := lease.Release(ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		lease, err := r.try("k")
		if err != nil || lease.Degraded() {
			t.Errorf("at the end: %v, degraded %v", err, lease.Degraded())
		}
		lease.Release(ctx)
		r.wantLedger(0)
	})
}

// A Client that is closed has left the drill.
func TestDrillOutlivesClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drill := new(Drill)
		r, _ := newSim(t, setup{options: shortTTL, policies: Policies{Default: atOnce.Default, Drill: drill}})
		if err := drill.Begin("default"); err != nil {
			t.Fatal(err)
		}
		later, _ := newSim(t, setup{options: shortTTL, policies: Policies{Default: atOnce.Default, Drill: drill}})
		lease, err := later.try("k")
		if err != nil || !lease.Degraded() {
			t.Errorf("of a Client that was made in the drill: %v", err)
		}
		lease.Release(context.Background())
		if err := errors.Join(r.Close(context.Background()), later.Close(context.Background())); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		drill.mu.Lock()
		defer drill.mu.Unlock()
		if len(drill.layers) != 0 {
			t.Errorf("%d layers are kept", len(drill.layers))
		}
	})
}
