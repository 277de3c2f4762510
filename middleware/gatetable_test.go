package middleware

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/client"
)

// openGates counts the gates that somebody is inside of.
func openGates() int {
	gates.mu.Lock()
	defer gates.mu.Unlock()
	return len(gates.open)
}

func wantIdle(t testing.TB) {
	t.Helper()
	if n := openGates(); n != 0 {
		t.Errorf("%d gates are left in the table", n)
	}
}

func TestGateKeepsNoLockWaitingForAnother(t *testing.T) {
	c := newClient(t, grant, Gate())
	a, err := c.Acquire(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.TryAcquire(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	release(t, a)
	release(t, b)
}

func TestGateIsSharedByClientsOfOneScope(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	core := func(client.Handler) client.Handler { return grant }
	open := func(opts ...client.Option) *client.Client {
		c, err := client.New(rdb, append(opts, client.WithMiddleware(Gate(), core))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		return c
	}
	one, same := open(client.WithPrefix("p:")), open(client.WithPrefix("p:"))
	lease, err := one.Acquire(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := same.TryAcquire(t.Context(), "k"); !isLocal(err) {
		t.Errorf("same scope: got %v, want held inside this process", err)
	}
	for name, opt := range map[string]client.Option{"prefix": client.WithPrefix("q:"), "gate": client.WithGate("g")} {
		other, err := open(opt).TryAcquire(t.Context(), "k")
		if err != nil {
			t.Errorf("another %s: %v", name, err)
			continue
		}
		release(t, other)
	}
	release(t, lease)
}

// C062: no hand-over inside the process is missed.
func TestGateHandsOverThousandsOfTimes(t *testing.T) {
	c := newClient(t, grant, Gate())
	done := make(chan error, 2)
	for range 2 {
		go func() {
			for range 2000 {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				lease, err := c.Acquire(ctx, "k")
				if err == nil {
					err = lease.Release(ctx)
				}
				cancel()
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	wantIdle(t)
}

func TestGateForgetsKeysThatAreIdle(t *testing.T) {
	through := Gate()(held)
	for i := range 200_000 {
		if _, err := through(t.Context(), client.Request{Key: fmt.Sprint(i)}); !errors.Is(err, client.ErrNotAcquired) {
			t.Fatal(err)
		}
	}
	wantIdle(t)
}
