package middleware

import (
	"testing"
	"testing/synctest"

	"github.com/holdfast-go/holdfast/client"
)

func TestGateLetsAnOwnerInOverWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, grant, Gate())
		x := client.WithOwner("x")
		first, err := c.Acquire(t.Context(), "k", x)
		if err != nil {
			t.Fatal(err)
		}
		stranger := acquire(t.Context(), c, "k")
		synctest.Wait()
		again, err := c.TryAcquire(t.Context(), "k", x)
		if err != nil {
			t.Fatalf("the owner may not re-enter: %v", err)
		}
		if _, err := c.TryAcquire(t.Context(), "k", client.WithOwner("y")); !isLocal(err) {
			t.Errorf("another owner: %v", err)
		}
		release(t, first)
		synctest.Wait()
		select {
		case r := <-stranger:
			t.Fatalf("a stranger is in beside the owner: %v", r)
		default:
		}
		release(t, again)
		r := <-stranger
		if r.err != nil {
			t.Fatal(r.err)
		}
		if _, err := c.TryAcquire(t.Context(), "k", x); !isLocal(err) {
			t.Errorf("the owner of before is in beside a stranger: %v", err)
		}
		release(t, r.lease)
	})
}

func TestGateLetsAnOwnerInWhileItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := make(script)
		c := newClient(t, s.core, Gate())
		x := client.WithOwner("x")
		first, second := acquire(t.Context(), c, "k", x), acquire(t.Context(), c, "k", x)
		synctest.Wait()
		s <- grant // both ask: else one of these would block for ever
		s <- fail(&client.HeldError{})
		a, b := <-first, <-second
		if a.lease == nil {
			a = b
		}
		if _, err := c.TryAcquire(t.Context(), "k"); !isLocal(err) {
			t.Errorf("one of the owner's failed, the other holds: got %v", err)
		}
		release(t, a.lease)
		synctest.Wait()
		wantIdle(t)
	})
}

func TestGateLetsQueuedCallersOfOneOwnerInTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, grant, Gate())
		x := client.WithOwner("x")
		holder, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		x1 := acquire(t.Context(), c, "k", x)
		synctest.Wait()
		stranger := acquire(t.Context(), c, "k")
		synctest.Wait()
		x2 := acquire(t.Context(), c, "k", x)
		synctest.Wait()
		x3 := acquire(t.Context(), c, "k", x)
		synctest.Wait()

		release(t, holder)
		r1, r2, r3 := <-x1, <-x2, <-x3
		select {
		case r := <-stranger:
			t.Fatalf("a stranger is in beside the owner: %v", r)
		default:
		}
		release(t, r2.lease)
		release(t, r3.lease)
		release(t, r1.lease)
		r := <-stranger
		release(t, r.lease)
		synctest.Wait()
		wantIdle(t)
	})
}
