package middleware

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/holdfast-go/holdfast/client"
)

// arrivals has callers come to one gate, one after another.
type arrivals struct {
	*testing.T
	*client.Client
}

func atGate(t *testing.T, test func(a *arrivals)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &arrivals{t, newClient(t, grant, Gate())}
		test(a)
		synctest.Wait()
		wantIdle(t)
	})
}

// comer is one who came: its lease is there once it is in.
type comer struct {
	arrivals *arrivals
	name     string
	done     <-chan result
	leave    context.CancelFunc
	lease    *client.Lease
}

func (a *arrivals) comes(name string, opts ...client.AcquireOption) *comer {
	a.Helper()
	ctx, leave := context.WithCancel(a.Context())
	a.Cleanup(leave)
	c := &comer{arrivals: a, name: name, done: acquire(ctx, a.Client, "k", opts...), leave: leave}
	synctest.Wait()
	return c
}

// isIn tells whether the comer has got its lease.
func (c *comer) isIn() bool {
	c.arrivals.Helper()
	synctest.Wait()
	select {
	case r := <-c.done:
		if r.err != nil {
			c.arrivals.Fatalf("%s: %v", c.name, r.err)
		}
		c.lease = r.lease
	default:
	}
	return c.lease != nil
}

func (a *arrivals) in(all ...*comer) {
	a.Helper()
	for _, c := range all {
		if !c.isIn() {
			a.Errorf("%s is not in", c.name)
		}
	}
}

func (a *arrivals) waits(all ...*comer) {
	a.Helper()
	for _, c := range all {
		if c.isIn() {
			a.Errorf("%s is in", c.name)
		}
	}
}

func (a *arrivals) goes(all ...*comer) {
	a.Helper()
	for _, c := range all {
		if !c.isIn() {
			a.Fatalf("%s is not in", c.name)
		}
		release(a.T, c.lease)
	}
}

// refused checks that one who does not wait is told so at once.
func (a *arrivals) refused(who string, opts ...client.AcquireOption) {
	a.Helper()
	if _, err := a.TryAcquire(a.Context(), "k", opts...); !isLocal(err) {
		a.Errorf("%s does not wait: got %v, want held inside this process", who, err)
	}
}
