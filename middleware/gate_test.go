package middleware

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// isLocal tells whether err says that the lock is held inside this process.
func isLocal(err error) bool {
	var h *client.HeldError
	return errors.Is(err, client.ErrNotAcquired) && errors.As(err, &h) && h.Local
}

// result is how an acquire in a goroutine of its own ended.
type result struct {
	lease *client.Lease
	err   error
}

func acquire(ctx context.Context, c *client.Client, key string, opts ...client.AcquireOption) <-chan result {
	done := make(chan result, 1)
	go func() {
		lease, err := c.Acquire(ctx, key, opts...)
		done <- result{lease, err}
	}()
	return done
}

// script is a core that hands each attempt to the test, which says how it ends.
type script chan func(context.Context, client.Request) (*client.Lease, error)

func (s script) core(ctx context.Context, req client.Request) (*client.Lease, error) {
	return (<-s)(ctx, req)
}

func fail(err error) func(context.Context, client.Request) (*client.Lease, error) {
	return func(_ context.Context, req client.Request) (*client.Lease, error) {
		return nil, &client.Error{Op: "acquire", Key: req.Key, Err: err}
	}
}

func TestGateStaysHeldUntilTheLeaseEnds(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *client.Lease){
		"released": func(t *testing.T, l *client.Lease) { release(t, l) },
		// C004: released too late, with an error.
		"expired": func(t *testing.T, l *client.Lease) {
			time.Sleep(400 * time.Millisecond)
			if err := l.Release(t.Context()); !errors.Is(err, client.ErrNotHeld) {
				t.Errorf("release: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var attempts atomic.Int32
				c := newClient(t, func(ctx context.Context, req client.Request) (*client.Lease, error) {
					attempts.Add(1)
					return grant(ctx, req)
				}, Gate())
				first, err := c.Acquire(t.Context(), "k", client.WithTTL(300*time.Millisecond))
				if err != nil {
					t.Fatal(err)
				}
				second := acquire(t.Context(), c, "k")
				synctest.Wait()
				if _, err := c.TryAcquire(t.Context(), "k"); !isLocal(err) {
					t.Errorf("try: got %v, want held inside this process", err)
				}
				if n := attempts.Load(); n != 1 {
					t.Errorf("%d attempts while the gate was held, want 1", n)
				}
				end(t, first)
				r := <-second
				if r.err != nil {
					t.Fatal(r.err)
				}
				release(t, r.lease)
				synctest.Wait()
				wantIdle(t)
			})
		})
	}
}

func TestGateStaysHeldWhileTheKeyRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, grant, Gate())
		start := time.Now()
		lease, err := c.Acquire(t.Context(), "k", client.WithMinHold(700*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		release(t, lease)
		next, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got < 700*time.Millisecond {
			t.Errorf("the next one was in after %v", got)
		}
		release(t, next)
	})
}

func TestGateFreesWhenNoLeaseComes(t *testing.T) {
	broken := errors.New("broken")
	for name, attempt := range map[string]func(context.Context, client.Request) (*client.Lease, error){
		"error":   fail(broken),
		"nothing": func(context.Context, client.Request) (*client.Lease, error) { return nil, nil },
		"panic":   func(context.Context, client.Request) (*client.Lease, error) { panic(broken) },
		"goexit": func(context.Context, client.Request) (*client.Lease, error) {
			runtime.Goexit()
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := make(script)
				c := newClient(t, s.core, Gate())
				go func() {
					defer func() { _ = recover() }()
					_, _ = c.Acquire(t.Context(), "k")
				}()
				synctest.Wait()
				waiter := acquire(t.Context(), c, "k")
				synctest.Wait()
				s <- attempt
				s <- grant
				r := <-waiter
				if r.err != nil {
					t.Fatal(r.err)
				}
				release(t, r.lease)
				synctest.Wait()
				wantIdle(t)
			})
		})
	}
}

func TestGateLetsExactlyTheNextOneIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 50
		inside := 0
		c := newClient(t, func(ctx context.Context, req client.Request) (*client.Lease, error) {
			inside++
			return grant(ctx, req)
		}, Gate())
		lease, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		waiters := make([]<-chan result, n)
		for i := range waiters {
			waiters[i] = acquire(t.Context(), c, "k")
			synctest.Wait()
		}
		for i, w := range waiters {
			release(t, lease)
			synctest.Wait()
			if inside != i+2 {
				t.Fatalf("release %d let %d in, want 1", i, inside-i-1)
			}
			select {
			case r := <-w:
				lease = r.lease
			default:
				t.Fatalf("waiter %d is not next", i)
			}
		}
		release(t, lease)
	})
}

func TestGateWakesWaitersWhenTheClientCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, grant, Gate())
		lease, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		waiter := acquire(t.Context(), c, "k")
		synctest.Wait()
		go func() { _ = c.Close(context.Background()) }()
		if r := <-waiter; !errors.Is(r.err, client.ErrClosed) || errors.Is(r.err, client.ErrNotAcquired) {
			t.Errorf("got %v, want ErrClosed alone", r.err)
		}
		release(t, lease)
	})
}
