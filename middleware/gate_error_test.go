package middleware

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

func TestGateWaiterLeavesWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, grant, Gate())
		lease, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err = c.Acquire(ctx, "k")
		if got := time.Since(start); got != 300*time.Millisecond {
			t.Errorf("left after %v", got)
		}
		if !isLocal(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want held inside this process and the deadline", err)
		}
		if _, err := c.TryAcquire(ctx, "k"); !isLocal(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("try with a context that ended: got %v, want held inside this process and the deadline", err)
		}
		release(t, lease)
	})
}

// What a waiter learns when its context ends, after others came back from Redis
// one after another while it waited, and one more is on its way there.
func TestGateTellsThatRedisFailed(t *testing.T) {
	unavailable := fail(client.ErrUnavailable)
	refused := fail(client.ErrRefused)
	cut := func(ctx context.Context, req client.Request) (*client.Lease, error) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return nil, client.WaitEnded(ctx, req, nil)
	}
	shortLease := func(ctx context.Context, req client.Request) (*client.Lease, error) {
		lease, err := grant(ctx, req)
		if err == nil {
			go func() { _ = lease.Release(ctx) }()
		}
		return lease, err
	}
	panics := func(context.Context, client.Request) (*client.Lease, error) { panic("broken") }
	type attempts = []func(context.Context, client.Request) (*client.Lease, error)
	for name, tc := range map[string]struct {
		before attempts
		failed bool
	}{
		"nobody came back":    {nil, false},
		"failed":              {attempts{unavailable}, true},
		"held":                {attempts{held}, false},
		"failed, then held":   {attempts{unavailable, held}, false},
		"held, then failed":   {attempts{held, unavailable}, true},
		"failed, refused":     {attempts{unavailable, refused}, false},
		"failed, then lease":  {attempts{unavailable, shortLease}, false},
		"left unanswered":     {attempts{cut}, true},
		"failed, then left":   {attempts{unavailable, cut}, true},
		"failed, then panic":  {attempts{unavailable, panics}, true},
		"failed, then broken": {attempts{unavailable, fail(errors.New("broken"))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := make(script)
				c := newClient(t, s.core, Gate())
				go func() { _, _ = c.Acquire(t.Context(), "k") }()
				synctest.Wait()
				for range tc.before { // each of these goes to Redis after the one before came back
					go func() {
						defer func() { _ = recover() }()
						_, _ = c.Acquire(t.Context(), "k")
					}()
					synctest.Wait()
				}
				ctx, cancel := context.WithCancel(t.Context())
				waiter := acquire(ctx, c, "k")
				synctest.Wait()
				for _, attempt := range tc.before {
					s <- attempt
					synctest.Wait()
				}
				_, try := c.TryAcquire(t.Context(), "k")
				cancel()
				wait := (<-waiter).err
				for what, err := range map[string]error{"waiter": wait, "try": try} {
					if errors.Is(err, client.ErrUnavailable) != tc.failed || isLocal(err) == tc.failed {
						t.Errorf("%s: got %v, want unavailable %v", what, err, tc.failed)
					}
				}
				if !errors.Is(wait, context.Canceled) {
					t.Errorf("waiter: got %v, want context.Canceled beside it", wait)
				}
				if errors.Is(try, context.Canceled) {
					t.Errorf("try: %v matches the end of a context that was not its own", try)
				}
				s <- held
				synctest.Wait()
				wantIdle(t)
			})
		})
	}
}

func TestGateTellsNoFailureWhileALeaseHoldsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := make(script)
		c := newClient(t, s.core, Gate())
		x := client.WithOwner("x")
		first, second := acquire(t.Context(), c, "k", x), acquire(t.Context(), c, "k", x)
		synctest.Wait()
		s <- grant
		synctest.Wait()
		s <- fail(client.ErrUnavailable)
		synctest.Wait()
		if _, err := c.TryAcquire(t.Context(), "k"); !isLocal(err) {
			t.Errorf("got %v, want held inside this process", err)
		}
		a, b := <-first, <-second
		if a.lease == nil {
			a = b
		}
		asking := acquire(t.Context(), c, "k", x)
		synctest.Wait()
		release(t, a.lease)
		synctest.Wait()
		if _, err := c.TryAcquire(t.Context(), "k"); !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("got %v once the lease had ended, want that Redis failed", err)
		}
		s <- held
		<-asking
	})
}

// One is let in by the gate, and its context ends before anything is sent.
func TestGateTellsWhatItsWaitersWaitedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(context.Context, client.Request) (*client.Lease, error)
		want   error
	}{
		"a holder":            {grant, client.ErrNotAcquired},
		"one who found it so": {held, client.ErrNotAcquired},
		"one without answer":  {fail(client.ErrUnavailable), client.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := make(script)
				ctx, cancel := context.WithCancel(t.Context())
				c := newClient(t, nil, Gate(), func(core client.Handler) client.Handler {
					return func(ctx context.Context, req client.Request) (*client.Lease, error) {
						if !req.Wait {
							return s.core(ctx, req)
						}
						cancel()
						<-ctx.Done()
						return core(ctx, req)
					}
				})
				first := make(chan *client.Lease, 1)
				go func() {
					lease, _ := c.TryAcquire(t.Context(), "k")
					first <- lease
				}()
				synctest.Wait()
				waiter := acquire(ctx, c, "k")
				synctest.Wait()
				s <- tc.before
				if lease := <-first; lease != nil {
					release(t, lease)
				}
				err := (<-waiter).err
				if !errors.Is(err, tc.want) || !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want %v and the end of the context", err, tc.want)
				}
				if client.ErrorType(err) != client.ErrorType(tc.want) {
					t.Errorf("got %v, want %v alone", err, tc.want)
				}
				wantIdle(t)
			})
		})
	}
}
