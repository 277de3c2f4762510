package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

func TestANestedLeaseLearnsOfTheEndWhateverItsContext(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(3*time.Second), client.Reentrant())
		outer := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		inner := must[*client.Lease](t)(c.Acquire(context.WithoutCancel(outer.Context()), "k"))
		if inner.Context().Err() != nil {
			t.Fatal("ended too early")
		}
		w.m.Del("holdfast:{k}")
		<-inner.Context().Done()
		if cause := context.Cause(inner.Context()); !errors.Is(cause, client.ErrLost) {
			t.Fatal(cause)
		}
	})
}

func TestTheFenceRisesAfterAllLeasesOfAnOwnerAreGone(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client()
		long := must[*client.Lease](t)(c.Acquire(w.ctx, "k", client.WithOwner("o"), client.WithTTL(time.Hour)))
		short := must[*client.Lease](t)(c.Acquire(w.ctx, "k", client.WithOwner("o"), client.WithTTL(time.Second), client.WithoutRenewal()))
		if err := long.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		<-short.Context().Done()
		time.Sleep(time.Second)
		next := must[*client.Lease](t)(c.Acquire(w.ctx, "k", client.WithOwner("o")))
		before, _ := short.Fence()
		if after, _ := next.Fence(); after <= before {
			t.Fatalf("fence %d after %d", after, before)
		}
	})
}

func TestAnOwnersSetDropsWhatHasExpired(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client()
		must[*client.Lease](t)(c.Acquire(w.ctx, "k", client.WithOwner("o"), client.WithTTL(time.Hour)))
		for range 100 {
			must[*client.Lease](t)(c.Acquire(w.ctx, "k", client.WithOwner("o"), client.WithTTL(time.Second), client.WithoutRenewal()))
			time.Sleep(2 * time.Second)
		}
		if members, _ := w.m.ZMembers("holdfast:{k}:members"); len(members) > 3 {
			t.Fatalf("%d members", len(members))
		}
	})
}

func TestTheLongestMinimumHoldOfAnOwnerCounts(t *testing.T) {
	for name, minimums := range map[string][]time.Duration{"first": {time.Minute, 0}, "second": {0, time.Minute}} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				c := w.client()
				var leases []*client.Lease
				for _, d := range minimums {
					leases = append(leases, must[*client.Lease](t)(c.Acquire(w.ctx, "k", client.WithOwner("o"), client.WithMinHold(d))))
				}
				time.Sleep(time.Second)
				for _, i := range []int{1, 0} {
					if minimums[0] > 0 {
						i = 1 - i // the one with the minimum is released first
					}
					if err := leases[i].Release(w.ctx); err != nil {
						t.Fatal(err)
					}
				}
				if info := must[client.Info](t)(c.Inspect(w.ctx, "k")); !info.Resting || info.TTL < 58*time.Second {
					t.Fatalf("%+v", info)
				}
			})
		})
	}
}

func TestANestedMinimumHoldCounts(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.Reentrant())
		outer := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		inner := must[*client.Lease](t)(c.Acquire(outer.Context(), "k", client.WithMinHold(time.Minute)))
		_, _ = inner.Release(w.ctx), outer.Release(w.ctx)
		if info := must[client.Info](t)(c.Inspect(w.ctx, "k")); !info.Resting {
			t.Fatalf("%+v", info)
		}
	})
}

func TestAnObserverMayReleaseAtTheEnd(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client()
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		calls := 0
		l.Observe(func(client.Event) {
			calls++
			if err := l.Release(w.ctx); err != nil {
				t.Error(err)
			}
		})
		if err := l.Release(w.ctx); err != nil || calls != 2 {
			t.Fatalf("%v, %d events", err, calls)
		}
	})
}

// An acquire made from the context of another lease fails for reasons of its own
// lock, and never for those of the other.
func TestTheEndOfAnotherLeaseIsNoSentinelOfThisOne(t *testing.T) {
	for name, end := range map[string]func(w *world, c *client.Client, l *client.Lease){
		"lost": func(w *world, _ *client.Client, l *client.Lease) {
			w.m.Del("holdfast:{a}")
			_ = l.Extend(w.ctx, time.Hour)
		},
		"released": func(w *world, _ *client.Client, l *client.Lease) { _ = l.Release(w.ctx) },
		"closed": func(_ *world, c *client.Client, _ *client.Lease) {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_ = c.Close(ended)
		},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				first := w.client()
				second := w.client(client.WithMiddleware(func(client.Handler) client.Handler {
					return func(ctx context.Context, req client.Request) (*client.Lease, error) {
						<-ctx.Done()
						return nil, client.WaitEnded(ctx, req, &client.HeldError{})
					}
				}))
				a := must[*client.Lease](t)(first.Acquire(w.ctx, "a"))
				got := make(chan error)
				go func() {
					_, err := second.Acquire(a.Context(), "b")
					got <- err
				}()
				synctest.Wait()
				end(w, first, a)
				err := <-got
				if !errors.Is(err, client.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
				for _, other := range []error{client.ErrLost, client.ErrReleased, client.ErrClosed} {
					if errors.Is(err, other) {
						t.Errorf("%v matches %v", err, other)
					}
				}
			})
		})
	}
}

func TestARefusedOwnerLeavesNothing(t *testing.T) {
	simulate(t, func(w *world) {
		_ = w.m.Set("holdfast:{k}:members", "x")
		_ = w.m.Set("holdfast:{nan}:fence", "nan")
		for key, opts := range map[string][]client.AcquireOption{"k": {client.WithOwner("o")}, "nan": nil} {
			if _, err := w.client().Acquire(w.ctx, key, opts...); !errors.Is(err, client.ErrRefused) {
				t.Error(err)
			}
			if w.m.Exists("holdfast:{" + key + "}") {
				t.Errorf("%s: the lock is taken all the same", key)
			}
		}
	})
}
