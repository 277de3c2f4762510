package fallback

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// outcomes counts what became of degraded leases.
type outcomes struct {
	mu sync.Mutex
	n  map[string]int
}

func (r *rig) outcomes() *outcomes {
	o := &outcomes{n: make(map[string]int)}
	r.b.OnReconciled(func(class string, result Result) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.n[class+" "+result.String()]++
	})
	return o
}

func (o *outcomes) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimPrefix(fmt.Sprint(o.n), "map")
}

func (r *rig) wantLedger(n int) {
	r.t.Helper()
	r.b.ledger.mu.Lock()
	defer r.b.ledger.mu.Unlock()
	if got := len(r.b.ledger.entries); got != n {
		r.t.Errorf("the ledger has %d leases, want %d", got, n)
	}
	if n == 0 && len(r.b.ledger.classes) != 0 {
		r.t.Errorf("the ledger has classes %v", r.b.ledger.classes)
	}
}

// A degraded lease is in Redis before anything else of the process goes there: then it
// is as any other, and who waits for it at the gate goes on.
func TestRecoveryPromotes(t *testing.T) {
	for _, trials := range []int{1, 3} {
		t.Run(fmt.Sprint(trials), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, sim := newSim(t, setup{policies: atOnce, options: shortTTL, breaker: BreakerConfig{HalfOpenRequests: trials}})
				got := r.outcomes()
				r.down()
				r.trip()
				lease, err := r.try("k", client.WithTTL(maxTTL))
				if err != nil {
					t.Fatal(err)
				}
				r.wantLedger(1)
				early := make(chan bool, 1)
				r.b.OnTransition(func(_, to State) {
					if to == Closed {
						early <- lease.Degraded()
					}
				})
				waited := make(chan *client.Lease, 1)
				go func() {
					next, err := r.Acquire(context.Background(), "k")
					if err != nil {
						t.Error(err)
					}
					waited <- next
				}()
				time.Sleep(5 * time.Second)
				r.up()
				if <-early {
					t.Error("the breaker closed before the lease was in Redis")
				}
				fence, ok := lease.Fence()
				if lease.Degraded() || !ok || !sim.Miniredis().Exists("holdfast:{k}") {
					t.Errorf("degraded %v, fence %v", lease.Degraded(), ok)
				}
				r.wantLedger(0)
				time.Sleep(time.Minute)
				if lease.Context().Err() != nil {
					t.Errorf("not renewed: %v", context.Cause(lease.Context()))
				}
				if err := lease.Release(context.Background()); err != nil {
					t.Error(err)
				}
				next := <-waited
				if f, ok := next.Fence(); next.Degraded() || !ok || f <= fence {
					t.Errorf("who waited: degraded %v, fence %d after %d", next.Degraded(), f, fence)
				}
				next.Release(context.Background())
				if got.String() != "[default promoted:1]" {
					t.Errorf("reconciled %v", got)
				}
				if n := len(r.logs.with("degraded mode is over: locks are taken in Redis again breaker=redis after=")); n != 1 || len(r.logs.with("grants=1 promoted=1 conflict=0")) != 1 {
					t.Errorf("logged %v", r.logs.with("degraded"))
				}
			})
		})
	}
}

// Another took the lock in Redis meanwhile: the degraded holder is told, and so are
// the operators.
func TestRecoveryFindsConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoProcesses(t, atOnce)
		got := b.outcomes()
		b.down()
		b.trip()
		ours, err := b.try("k")
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := a.try("k")
		if err != nil {
			t.Fatal(err)
		}
		b.up()
		<-ours.Context().Done()
		var lost *client.LostError
		if !errors.As(context.Cause(ours.Context()), &lost) || lost.Loss != client.LossConflict {
			t.Errorf("cause %v", context.Cause(ours.Context()))
		}
		if theirs.Context().Err() != nil {
			t.Error("the other lease ended too")
		}
		time.Sleep(time.Second)
		b.wantState(Closed)
		b.wantLedger(0)
		if got.String() != "[default conflict:1]" {
			t.Errorf("reconciled %v", got)
		}
		lines := b.logs.with("WARN holdfast: conflict")
		if len(lines) != 1 || !strings.Contains(lines[0], "key=k class=default ours="+b.Identity()+" theirs="+a.Identity()) {
			t.Errorf("logged %v", lines)
		}
		if err := ours.Release(context.Background()); !errors.Is(err, client.ErrNotHeld) {
			t.Error(err)
		}
		if err := theirs.Release(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// While leases are being promoted nothing is granted locally and nothing else goes to
// Redis: calls wait, and then go there.
func TestCallsWaitForPromotions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: atOnce, options: shortTTL})
		warm(t, r, 1)
		r.down()
		r.trip()
		lease, err := r.try("k", client.WithTTL(maxTTL))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		r.proxy.ResetStats()
		r.proxy.HoldReplies(redistest.Command.Script)
		r.up()
		r.proxy.Await(t, "the promotion", func(redistest.Stats) bool { return r.scripts() == 1 })
		type result struct {
			lease *client.Lease
			err   error
		}
		results := make(chan result, 2)
		for _, acquire := range []func(context.Context, string, ...client.AcquireOption) (*client.Lease, error){r.Acquire, r.TryAcquire} {
			go func() {
				l, err := acquire(context.Background(), fmt.Sprintf("%p", acquire))
				results <- result{l, err}
			}()
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if len(results) != 0 || r.scripts() != 1 {
			t.Errorf("%d calls went on, %d scripts", len(results), r.scripts())
		}
		r.proxy.ReleaseReplies()
		for range 2 {
			got := <-results
			if got.err != nil || got.lease.Degraded() {
				t.Errorf("got %v, degraded %v", got.err, got.lease.Degraded())
			}
			got.lease.Release(context.Background())
		}
		lease.Release(context.Background())
	})
}

// A caller's deadline holds while promotions are under way.
func TestDeadlineHoldsDuringPromotions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: atOnce, options: shortTTL})
		r.down()
		r.trip()
		lease, err := r.try("k", client.WithTTL(maxTTL))
		if err != nil {
			t.Fatal(err)
		}
		r.proxy.HoldReplies(redistest.Command.Script)
		r.up()
		r.proxy.Await(t, "the promotion", func(redistest.Stats) bool { return r.scripts() == 1 })
		ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err = r.TryAcquire(ctx, "other")
		wantIs(t, err, client.ErrUnavailable, context.DeadlineExceeded)
		if d := time.Since(start); d != 150*time.Millisecond {
			t.Errorf("it took %v", d)
		}
		r.proxy.ReleaseReplies()
		lease.Release(context.Background())
	})
}
