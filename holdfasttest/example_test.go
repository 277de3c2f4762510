package holdfasttest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/holdfasttest"
)

// Stock is the code under test: it sells what there is, once.
type Stock struct {
	locks *client.Client
	left  int
}

func (s *Stock) Sell(ctx context.Context) (sold bool, err error) {
	err = s.locks.Do(ctx, "stock", func(context.Context, *client.Lease) error {
		if sold = s.left > 0; sold {
			s.left--
		}
		return nil
	})
	return sold, err
}

// A test as users write it.
func TestStockSellsOnce(t *testing.T) {
	stock := &Stock{locks: holdfasttest.New(t), left: 1}
	for _, want := range []bool{true, false} {
		if sold, err := stock.Sell(t.Context()); err != nil || sold != want {
			t.Errorf("Sell = %v, %v, want %v", sold, err, want)
		}
	}
}

// A test of what takes hours, in a bubble.
func TestNightlyRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		nightly := func() bool {
			lease, err := locks.TryAcquire(t.Context(), "nightly", client.WithMinHold(time.Hour))
			if err != nil {
				return false
			}
			defer lease.Release(t.Context())
			return true
		}
		if !nightly() {
			t.Error("the first run was refused")
		}
		time.Sleep(59 * time.Minute)
		if nightly() {
			t.Error("a second run within the hour was let in")
		}
		time.Sleep(2 * time.Minute)
		if !nightly() {
			t.Error("the run after an hour was refused")
		}
	})
}
