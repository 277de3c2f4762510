package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

func TestCloseRenewsUntilTheLastLeaseIsReleased(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(3 * time.Second))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		closed := make(chan error)
		go func() { closed <- c.Close(w.ctx) }()
		synctest.Wait()
		if _, err := c.Acquire(w.ctx, "other"); !errors.Is(err, client.ErrClosed) {
			t.Fatalf("Acquire while closing: %v", err)
		}
		if _, err := c.Inspect(w.ctx, "other"); !errors.Is(err, client.ErrClosed) {
			t.Fatalf("Inspect while closing: %v", err)
		}
		time.Sleep(time.Minute + 13*time.Millisecond)
		select {
		case err := <-closed:
			t.Fatalf("Close returned %v while a lease was held", err)
		default:
		}
		if l.Context().Err() != nil || !w.m.Exists("holdfast:{k}") {
			t.Fatal("not renewed while closing")
		}
		if err := l.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		if err := c.Close(w.ctx); err != nil {
			t.Fatalf("second Close: %v", err)
		}
	})
}

// C152: what is left when Close gives up ends by its TTL.
func TestCloseEndsWhatIsLeft(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(3 * time.Second))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		var reason client.EndReason
		l.Observe(func(e client.Event) { reason = e.Reason })
		ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if !errors.Is(context.Cause(l.Context()), client.ErrClosed) || reason != client.EndClosed {
			t.Fatalf("cause %v, reason %v", context.Cause(l.Context()), reason)
		}
		if !w.m.Exists("holdfast:{k}") {
			t.Fatal("Close took the key of a lease that nobody released")
		}
		time.Sleep(3*time.Second + time.Millisecond)
		if w.m.Exists("holdfast:{k}") {
			t.Fatal("renewed after Close")
		}
	})
}

func TestCloseCallsItsHooksLastAddedFirst(t *testing.T) {
	simulate(t, func(w *world) {
		var order []string
		hook := func(name string, err error) client.Option {
			return client.WithOnClose(func(context.Context) error { order = append(order, name); return err })
		}
		failed := errors.New("failed")
		c := w.client(hook("a", nil), hook("b", failed), hook("c", nil))
		if err := c.Close(w.ctx); !errors.Is(err, failed) {
			t.Fatal(err)
		}
		if len(order) != 3 || order[0] != "c" || order[2] != "a" {
			t.Fatal(order)
		}
	})
}

func TestCloseWakesACallThatWaits(t *testing.T) {
	simulate(t, func(w *world) {
		waiting := func(client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				<-ctx.Done()
				return nil, client.WaitEnded(ctx, req, &client.HeldError{Local: true})
			}
		}
		c := w.client(client.WithMiddleware(waiting))
		got := make(chan error)
		go func() {
			_, err := c.Acquire(w.ctx, "k")
			got <- err
		}()
		synctest.Wait()
		if err := c.Close(w.ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-got; !errors.Is(err, client.ErrClosed) || errors.Is(err, client.ErrNotAcquired) {
			t.Fatal(err)
		}
	})
}
