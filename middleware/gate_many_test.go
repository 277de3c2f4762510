package middleware

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// A lease on several keys keeps the gate of each, and one that fails keeps none.
func TestGateOfSeveralKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, grant, Gate())
		both, err := c.AcquireAll(t.Context(), []string{"b", "a"})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range both.Keys() {
			if _, err := c.TryAcquire(t.Context(), key); !isLocal(err) {
				t.Errorf("%s: %v", key, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.AcquireAll(ctx, []string{"c", "b"}); !isLocal(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		one, err := c.TryAcquire(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		release(t, one)
		release(t, both)
		synctest.Wait()
		wantIdle(t)
	})
}

// Callers of overlapping keys do not wait for each other in a circle.
func TestGateOfOverlappingKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, grant, Gate())
		var inside [4]atomic.Int32
		var work sync.WaitGroup
		for range 20 {
			work.Go(func() {
				for range 20 {
					picks := rand.Perm(4)[:1+rand.IntN(3)]
					var keys []string
					for _, i := range picks {
						keys = append(keys, fmt.Sprint(i))
					}
					l, err := c.AcquireAll(t.Context(), keys)
					if err != nil {
						t.Error(err)
						return
					}
					for _, i := range picks {
						if inside[i].Add(1) != 1 {
							t.Errorf("%d has two", i)
						}
					}
					time.Sleep(time.Millisecond)
					for _, i := range picks {
						inside[i].Add(-1)
					}
					release(t, l)
				}
			})
		}
		work.Wait()
		synctest.Wait()
		wantIdle(t)
	})
}

// Another number of slots than those of the leases inside is a mistake here as well.
func TestGateKnowsTheNumberOfSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, grant, Gate())
		l, err := c.Acquire(t.Context(), "k", client.Slots(2))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Acquire(t.Context(), "k", client.Slots(3)); !errors.Is(err, client.ErrInvalid) {
			t.Error(err)
		}
		release(t, l)
	})
}
