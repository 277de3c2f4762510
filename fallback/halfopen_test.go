package fallback

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// C111: at most the configured number of trials reach Redis, the others fail at
// once, and the breaker closes when the trials succeed.
func TestHalfOpenAdmission(t *testing.T) {
	for _, trials := range []int{1, 3} {
		t.Run(fmt.Sprint(trials), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newSim(t, setup{breaker: BreakerConfig{HalfOpenRequests: trials, ProbeInterval: never}})
				warm(t, r, trials)
				r.trip()
				time.Sleep(DefaultOpenTimeout + time.Millisecond)
				r.proxy.ResetStats()
				r.proxy.HoldReplies()
				var wg sync.WaitGroup
				var refused atomic.Int32
				for i := range 50 {
					wg.Go(func() {
						lease, err := r.try(fmt.Sprint("k", i))
						if errors.As(err, new(*OpenError)) {
							refused.Add(1)
							return
						}
						if err != nil {
							t.Error(err)
						}
						defer lease.Release(context.Background())
					})
				}
				synctest.Wait()
				if got := r.scripts(); got != trials {
					t.Errorf("%d attempts reached Redis, want %d", got, trials)
				}
				if got := int(refused.Load()); got != 50-trials {
					t.Errorf("%d were refused, want %d", got, 50-trials)
				}
				r.wantState(HalfOpen)
				r.proxy.ReleaseReplies()
				wg.Wait()
				r.wantState(Closed)
			})
		})
	}
}

// warm loads the scripts and opens n connections, so that an attempt is one
// command.
func warm(t *testing.T, r *rig, n int) {
	t.Helper()
	lease, err := r.try("warm")
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.proxy.HoldReplies(redistest.Named("PING"))
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { r.rdb.Ping(context.Background()) })
	}
	synctest.Wait()
	r.proxy.ReleaseReplies()
	wg.Wait()
}

// C110: a trial whose caller leaves keeps its slot for no longer than its command
// takes, and the command's end decides.
func TestTrialCancelled(t *testing.T) {
	for _, tt := range []struct {
		name string
		heal time.Duration // after the caller has left
		want State
	}{
		{"answered late", 300 * time.Millisecond, Closed},
		{"never answered", time.Hour, Open},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newSim(t, setup{breaker: BreakerConfig{ProbeInterval: never}})
				warm(t, r, 1)
				r.trip()
				time.Sleep(DefaultOpenTimeout + time.Millisecond)
				r.proxy.Cut()
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(101*time.Millisecond, cancel)
				_, err := r.Acquire(ctx, "k")
				wantIs(t, err, context.Canceled)
				r.wantState(HalfOpen)
				_, err = r.try("other")
				if !errors.As(err, new(*OpenError)) {
					t.Errorf("while the trial's command is under way: got %v", err)
				}
				time.Sleep(min(tt.heal, client.DefaultCommandTimeout))
				r.proxy.Heal()
				synctest.Wait()
				r.wantState(tt.want)
				time.Sleep(DefaultOpenTimeout + time.Millisecond)
				lease, err := r.try("k2")
				if err != nil {
					t.Fatal(err)
				}
				r.wantState(Closed)
				lease.Release(context.Background())
			})
		})
	}
}

// C110: a trial that is cancelled before it was sent, fails in a layer, or panics
// gives its slot back and decides nothing.
func TestTrialThatNeverWas(t *testing.T) {
	for name, below := range map[string]func(context.Context) (*client.Lease, error){
		"panic":            func(context.Context) (*client.Lease, error) { panic("layer") },
		"error of a layer": func(context.Context) (*client.Lease, error) { return nil, errors.New("no") },
		"cancelled before": func(context.Context) (*client.Lease, error) { return nil, context.Canceled },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				broken := true
				r, _ := newSim(t, setup{
					breaker: BreakerConfig{ProbeInterval: never},
					below: func(next client.Handler) client.Handler {
						return func(ctx context.Context, req client.Request) (*client.Lease, error) {
							if broken {
								return below(ctx)
							}
							return next(ctx, req)
						}
					},
				})
				r.trip()
				time.Sleep(DefaultOpenTimeout + time.Millisecond)
				for range 3 {
					func() {
						defer func() { recover() }()
						if _, err := r.try("k"); errors.As(err, new(*OpenError)) {
							t.Errorf("the trial before kept its slot: %v", err)
						}
					}()
					r.wantState(HalfOpen)
				}
				broken = false
				lease, err := r.try("k")
				if err != nil {
					t.Fatal(err)
				}
				r.wantState(Closed)
				lease.Release(context.Background())
			})
		})
	}
}

func TestTrialFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{breaker: BreakerConfig{ProbeInterval: never}})
		r.down()
		r.trip()
		for range 3 {
			time.Sleep(DefaultOpenTimeout + time.Millisecond)
			_, err := r.try("k")
			wantIs(t, err, client.ErrUnavailable)
			if errors.As(err, new(*OpenError)) {
				t.Fatalf("no trial: %v", err)
			}
			r.wantState(Open)
			if _, err = r.try("k"); !errors.As(err, new(*OpenError)) {
				t.Fatalf("after a trial that failed: got %v", err)
			}
		}
		r.up()
	})
}

// ncps: a lock that is held, met by the trial, must not keep the application
// degraded.
func TestTrialMeetsHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{breaker: BreakerConfig{ProbeInterval: never}})
		other, err := client.New(r.rdb, client.WithGate("other"))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close(context.Background())
		lease, err := other.Acquire(context.Background(), "k")
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Release(context.Background())
		r.trip()
		time.Sleep(DefaultOpenTimeout + time.Millisecond)
		_, err = r.try("k")
		wantIs(t, err, client.ErrNotAcquired)
		wantIsNot(t, err, client.ErrUnavailable)
		r.wantState(Closed)
	})
}
