package middleware

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

func TestGateLetsReadersInWhenALeaseIsDowngraded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := redistest.NewSim(t).Client()
		c, err := client.New(rdb, client.WithMiddleware(Gate()))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		lease, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		reader := acquire(t.Context(), c, "k", client.Shared())
		synctest.Wait()
		if err := lease.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		var r result
		select {
		case r = <-reader:
		case <-time.After(time.Second):
			t.Fatal("the reader is not let in")
		}
		if r.err != nil {
			t.Fatal(r.err)
		}
		if err := lease.Context().Err(); err != nil {
			t.Error(err)
		}
		release(t, lease)
		if _, err := c.TryAcquire(t.Context(), "k"); !isLocal(err) {
			t.Errorf("a writer beside the reader: %v", err)
		}
		release(t, r.lease)
		synctest.Wait()
		wantIdle(t)
	})
}

// The answer to a downgrade comes after the lease has ended, and another has the
// lock: that one stays alone.
func TestGateIgnoresADowngradeOfALeaseThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy := redistest.NewSim(t).Proxy()
		rdb := proxy.Client(t)
		open := func(layers ...client.Middleware) *client.Client {
			c, err := client.New(rdb, client.WithMiddleware(layers...))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close(context.Background()) })
			return c
		}
		c, local := open(Gate()), open(Gate(), func(client.Handler) client.Handler { return grant })
		take := func(key string) *client.Lease {
			lease, err := c.Acquire(t.Context(), key, client.WithTTL(500*time.Millisecond), client.WithoutRenewal())
			if err != nil {
				t.Fatal(err)
			}
			return lease
		}
		warm := take("warm") // the server knows the script from here on
		if err := warm.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		release(t, warm)
		lease := take("k")
		proxy.HoldReplies()
		downgraded := make(chan error, 1)
		go func() { downgraded <- lease.Downgrade(t.Context()) }()
		next := acquire(t.Context(), local, "k")
		time.Sleep(600 * time.Millisecond)
		r := <-next
		if r.err != nil {
			t.Fatal(r.err)
		}
		proxy.ReleaseReplies()
		if err := <-downgraded; !errors.Is(err, client.ErrNotHeld) {
			t.Fatalf("the answer came after the end of the lease: %v", err)
		}
		synctest.Wait()
		if _, err := local.TryAcquire(t.Context(), "k", client.Shared()); !isLocal(err) {
			t.Errorf("a reader is in beside the next one: %v", err)
		}
		release(t, r.lease)
		synctest.Wait()
		wantIdle(t)
	})
}

// A lease that is shared from now on lets in the readers who are next, and no other.
func TestGateLetsReadersInToADowngradedLease(t *testing.T) {
	ask := func(opts ...func(*client.Request)) client.Request {
		req := client.Request{Key: t.Name(), Wait: true}
		for _, opt := range opts {
			opt(&req)
		}
		return req
	}
	reading := func(r *client.Request) { r.Mode = client.SharedMode }
	owned := func(r *client.Request) { r.Owner = "x" }
	for name, tc := range map[string]struct {
		others int // leases of the same owner beside it
	}{"alone": {0}, "beside leases of its owner": {2}} {
		t.Run(name, func(t *testing.T) {
			holder, _, _ := gates.arrive(ask(owned), t.Name())
			others := make([]place, tc.others)
			for i := range others {
				others[i], _, _ = gates.arrive(ask(owned), t.Name())
			}
			p1, reader, _ := gates.arrive(ask(reading), t.Name())
			p2, writer, _ := gates.arrive(ask(), t.Name())
			p3, behind, _ := gates.arrive(ask(reading), t.Name())
			holder = gates.downgrade(holder)
			for _, p := range others {
				if isOpen(reader.in) {
					t.Error("a reader is in beside an exclusive lease")
				}
				gates.leave(p, nil, nil)
			}
			if !isOpen(reader.in) || isOpen(writer.in) || isOpen(behind.in) {
				t.Errorf("in are: the reader %t, the writer %t, the reader behind it %t", isOpen(reader.in), isOpen(writer.in), isOpen(behind.in))
			}
			gates.leave(holder, nil, nil)
			gates.leave(p1, nil, nil)
			if !isOpen(writer.in) || isOpen(behind.in) {
				t.Error("the writer is not next")
			}
			gates.leave(p2, nil, nil)
			gates.leave(p3, nil, nil)
			wantIdle(t)
		})
	}
}

func isOpen(door <-chan struct{}) bool {
	select {
	case <-door:
		return true
	default:
		return false
	}
}
