package middleware

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

func TestGateServesInTheOrderOfArrival(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, grant, Gate())
			var mu sync.Mutex
			var served []int
			var left []int
			var wg sync.WaitGroup
			for i := range 40 {
				hold := time.Duration(1+rand.IntN(20)) * time.Millisecond
				patience := time.Duration(1+rand.IntN(400)) * time.Millisecond
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					lease, err := c.Acquire(ctx, "k")
					mu.Lock()
					if err != nil {
						left = append(left, i)
						mu.Unlock()
						return
					}
					served = append(served, i)
					mu.Unlock()
					time.Sleep(hold)
					_ = lease.Release(context.Background())
				})
				synctest.Wait()
			}
			wg.Wait()
			if !slices.IsSorted(served) {
				t.Errorf("served in the order %v", served)
			}
			if len(served)+len(left) != 40 || len(served) == 0 {
				t.Errorf("%d served and %d left, want 40 in all", len(served), len(left))
			}
			synctest.Wait()
			wantIdle(t)
		})
	}
}

// A waiter whose context ends at the very moment at which it is let in passes its
// place on: the one behind it gets in.
func TestGateLosesNoHandOverToACancel(t *testing.T) {
	for round := range 300 {
		synctest.Test(t, func(t *testing.T) {
			cancelFirst := round%2 == 0
			c := newClient(t, func(ctx context.Context, req client.Request) (*client.Lease, error) {
				if cancelFirst && ctx.Err() != nil {
					t.Error("one whose context had ended was sent on")
				}
				return grant(ctx, req)
			}, Gate())
			lease, err := c.Acquire(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			second := acquire(ctx, c, "k")
			synctest.Wait()
			third := acquire(t.Context(), c, "k")
			synctest.Wait()

			var wg sync.WaitGroup
			if cancelFirst {
				cancel()
			} else {
				wg.Go(cancel)
			}
			release(t, lease)
			wg.Wait()
			r := <-second
			if cancelFirst && !isLocal(r.err) {
				t.Errorf("got %v, want held inside this process", r.err)
			}
			r = <-third
			if r.err != nil {
				t.Fatal(r.err)
			}
			release(t, r.lease)
			synctest.Wait()
			wantIdle(t)
		})
	}
}

// The same, move by move: it was let in, and has not seen that yet.
func TestGatePassesAPlaceOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := client.Request{Key: t.Name(), Wait: true}
	first, _, _ := gates.arrive(req, req.Key)
	p, second, _ := gates.arrive(req, req.Key)
	q, third, _ := gates.arrive(req, req.Key)
	gates.leave(first, nil, nil)
	select {
	case <-second.in:
	default:
		t.Fatal("the second is not next")
	}
	if err := client.WaitEnded(ctx, req, gates.giveUp(p, second, req)); !isLocal(err) {
		t.Error(err)
	}
	select {
	case <-third.in:
	default:
		t.Error("the third has not got the place of the second")
	}
	gates.leave(q, nil, nil)
	wantIdle(t)
}
