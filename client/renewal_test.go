package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

func TestRenewalKeepsTheLeaseForAsLongAsItIsHeld(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(3 * time.Second))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		for range 600 {
			time.Sleep(101 * time.Millisecond)
			if l.Context().Err() != nil {
				t.Fatalf("lost: %v", context.Cause(l.Context()))
			}
			if ttl := w.m.TTL("holdfast:{k}"); ttl < 1900*time.Millisecond {
				t.Fatalf("the TTL fell to %v: no renewal after a third of it", ttl)
			}
		}
		if err := l.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		if w.m.Exists("holdfast:{k}") {
			t.Fatal("the key is there after the release")
		}
	})
}

func TestWithoutRenewalTheLeaseEndsBeforeItsKey(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(3*time.Second), client.WithoutRenewal())
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		<-l.Context().Done()
		if !w.m.Exists("holdfast:{k}") {
			t.Fatal("the key was gone before the lease's context ended")
		}
		cause := context.Cause(l.Context())
		var lost *client.LostError
		if !errors.Is(cause, client.ErrLost) || !errors.As(cause, &lost) || lost.Reason != client.EndExpired {
			t.Fatalf("cause %v", cause)
		}
		if err := l.Release(w.ctx); !errors.Is(err, client.ErrNotHeld) {
			t.Fatalf("release of an expired lease: %v", err)
		}
	})
}

func TestErrKnowsOfThePassedDeadlineBeforeAnyTimerRan(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(3*time.Second), client.WithoutRenewal())
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		// Sleep until the very instant: the scheduler's timer may run after us.
		time.Sleep(time.Until(l.Deadline()))
		if err := l.Context().Err(); err == nil {
			t.Fatal("Err is nil at the deadline")
		}
		if !errors.Is(context.Cause(l.Context()), client.ErrLost) {
			t.Fatalf("cause %v", context.Cause(l.Context()))
		}
		select {
		case <-l.Context().Done():
		default:
			t.Fatal("Err is set but Done is open")
		}
	})
}

func TestCauseKnowsOfThePassedDeadlineToo(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(3*time.Second), client.WithoutRenewal())
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		time.Sleep(time.Until(l.Deadline()))
		if cause := context.Cause(l.Context()); !errors.Is(cause, client.ErrLost) {
			t.Fatalf("cause %v", cause)
		}
	})
}

// C040, C041, C038: a renewal or an Extend acts on its own token only, creates
// nothing, and tells the holder.
func TestTakenKeyEndsTheLeaseAndIsLeftAlone(t *testing.T) {
	simulate(t, func(w *world) {
		a, b := w.client(client.WithTTL(3*time.Second)), w.client(client.WithTTL(5*time.Second), client.WithoutRenewal())
		l := must[*client.Lease](t)(a.Acquire(w.ctx, "k"))
		w.m.Del("holdfast:{k}")
		other := must[*client.Lease](t)(b.Acquire(w.ctx, "k"))
		if err := l.Extend(w.ctx, time.Minute); !errors.Is(err, client.ErrNotHeld) {
			t.Fatalf("Extend of a taken lock: %v", err)
		}
		if cause := context.Cause(l.Context()); !errors.Is(cause, client.ErrLost) {
			t.Fatalf("cause %v", cause)
		}
		if ttl := w.m.TTL("holdfast:{k}"); ttl > 5*time.Second {
			t.Fatalf("the other's TTL became %v", ttl)
		}
		if err := l.Release(w.ctx); !errors.Is(err, client.ErrNotHeld) {
			t.Fatalf("Release of a taken lock: %v", err)
		}
		if err := other.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRenewalNoticesTheLoss(t *testing.T) {
	for name, tc := range map[string]struct {
		take bool
		loss client.LossReason
	}{"gone": {false, client.LossExpired}, "taken": {true, client.LossTaken}} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				c := w.client(client.WithTTL(3 * time.Second))
				l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
				w.m.Del("holdfast:{k}")
				if tc.take {
					must[*client.Lease](t)(w.client().Acquire(w.ctx, "k"))
				}
				start := time.Now()
				<-l.Context().Done()
				if d := time.Since(start); d > 1100*time.Millisecond {
					t.Errorf("told after %v", d)
				}
				var lost *client.LostError
				if !errors.As(context.Cause(l.Context()), &lost) || lost.Loss != tc.loss {
					t.Errorf("cause %v", context.Cause(l.Context()))
				}
			})
		})
	}
}

// C045
func TestMaxHoldEndsTheLeaseAndItsRenewal(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(500*time.Millisecond), client.WithMaxHold(2*time.Second))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		start := time.Now()
		<-l.Context().Done()
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("ended after %v", d)
		}
		var lost *client.LostError
		if !errors.As(context.Cause(l.Context()), &lost) || lost.Reason != client.EndMaxHold {
			t.Errorf("cause %v", context.Cause(l.Context()))
		}
		time.Sleep(501 * time.Millisecond)
		if w.m.Exists("holdfast:{k}") {
			t.Error("renewed past the maximum hold")
		}
	})
}

func TestMaxHoldLeavesTheKeyToRelease(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(10*time.Second), client.WithMaxHold(time.Second))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		<-l.Context().Done()
		if !w.m.Exists("holdfast:{k}") {
			t.Fatal("the key went with the maximum hold")
		}
		if err := l.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		if w.m.Exists("holdfast:{k}") {
			t.Fatal("the key is there after the release")
		}
	})
}

func TestExtendSetsTheTTLOfLaterRenewalsAndShortensNothing(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(9 * time.Second))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		before := l.Deadline()
		if err := l.Extend(w.ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		if l.Deadline().Before(before) || w.m.TTL("holdfast:{k}") < 9*time.Second {
			t.Fatalf("Extend shortened the lease: deadline %v, TTL %v", l.Deadline().Sub(before), w.m.TTL("holdfast:{k}"))
		}
		if err := l.Extend(w.ctx, 30*time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute + 37*time.Millisecond)
		if ttl := w.m.TTL("holdfast:{k}"); ttl < 20*time.Second {
			t.Fatalf("renewed with %v after Extend(30s)", ttl)
		}
		if l.Context().Err() != nil {
			t.Fatal(context.Cause(l.Context()))
		}
	})
}

func TestTheContextOfAcquireCarriesTheLease(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(3 * time.Second))
		ctx, cancel := context.WithCancelCause(w.ctx)
		why := errors.New("shutting down")
		l := must[*client.Lease](t)(c.Acquire(ctx, "k"))
		var ended []client.Event
		l.Observe(func(e client.Event) {
			if e.Kind == client.EventEnded {
				ended = append(ended, e)
			}
		})
		cancel(why)
		if l.Context().Err() == nil || !errors.Is(context.Cause(l.Context()), why) {
			t.Fatalf("err %v, cause %v", l.Context().Err(), context.Cause(l.Context()))
		}
		synctest.Wait()
		if len(ended) != 1 || ended[0].Reason != client.EndCanceled {
			t.Fatalf("events %v", ended)
		}
		time.Sleep(time.Second)
		if !w.m.Exists("holdfast:{k}") {
			t.Fatal("the key must go at Release or after its TTL, not before")
		}
		// C115: the deferred release of a cancelled request frees the lock.
		if err := l.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if w.m.Exists("holdfast:{k}") {
			t.Fatal("the key is there after the release")
		}
	})
}
