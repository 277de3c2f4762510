package fallback

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// MaxTTL holds in every mode, else the quarantine would be too short.
func TestMaxTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: Policies{
			Classes: map[string]Policy{
				"local": Local{MaxTTL: maxTTL, UnsafeSkipQuarantine: true},
				"later": Local{MaxTTL: maxTTL},
			},
		}})
		ctx := context.Background()
		class := client.WithClass("local")
		check := func(degraded bool) {
			t.Helper()
			for _, opts := range [][]client.AcquireOption{
				{class}, // the Client's default is 30 s
				{class, client.WithTTL(maxTTL + time.Millisecond)},
				{class, client.WithTTL(ttl), client.WithMinHold(maxTTL + time.Millisecond)},
				{client.WithClass("later"), client.WithTTL(maxTTL + time.Millisecond)},
			} {
				_, err := r.try("k", opts...)
				wantIs(t, err, client.ErrInvalid)
				wantIsNot(t, err, client.ErrUnavailable)
			}
			lease, err := r.try("k", class, client.WithTTL(maxTTL))
			if err != nil {
				t.Fatal(err)
			}
			if lease.Degraded() != degraded {
				t.Errorf("degraded is %v", lease.Degraded())
			}
			wantIs(t, lease.Extend(ctx, maxTTL+time.Millisecond), client.ErrInvalid)
			if err := lease.Extend(ctx, maxTTL); err != nil {
				t.Error(err)
			}
			if err := lease.Release(ctx); err != nil {
				t.Error(err)
			}
		}
		check(false)
		lease, err := r.try("k", client.WithTTL(time.Hour)) // another class, another bound
		if err != nil {
			t.Fatal(err)
		}
		lease.Release(ctx)
		r.down()
		r.trip()
		check(true)
		r.up()
	})
}

// A bound that an outer layer set is not raised.
func TestMaxTTLIsNeverRaised(t *testing.T) {
	_, mw := degradeOnly(t, quarantine)
	outer := func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			req.MaxTTL = time.Second
			return next(ctx, req)
		}
	}
	c := overFake(t, client.Chain(outer, mw), func(_ context.Context, req client.Request) (*client.Lease, error) {
		if req.MaxTTL != time.Second {
			t.Errorf("MaxTTL is %v", req.MaxTTL)
		}
		return client.NewLocalLease(req)
	})
	lease, err := c.TryAcquire(context.Background(), "k", client.WithTTL(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	lease.Release(context.Background())
	_, err = c.TryAcquire(context.Background(), "k", client.WithTTL(2*time.Second))
	wantIs(t, err, client.ErrInvalid)
	if !strings.Contains(err.Error(), "at most the 1s") {
		t.Errorf("text is %q", err)
	}
}
