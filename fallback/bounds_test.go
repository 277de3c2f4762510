package fallback

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

func wantBound(t *testing.T, err error, bound Bound, text string) {
	t.Helper()
	wantIs(t, err, client.ErrUnavailable)
	wantIsNot(t, err, client.ErrNotAcquired, client.ErrRefused, client.ErrInvalid, client.ErrClosed, client.ErrNotHeld, client.ErrLost)
	var e *BoundError
	if !errors.As(err, &e) || e.Bound != bound || e.Class != "default" || e.Since.IsZero() || !errors.As(err, new(*OpenError)) {
		t.Errorf("got %#v", err)
	}
	if !strings.Contains(err.Error(), text) || client.OutcomeOf(err) != client.OutcomeRejected {
		t.Errorf("outcome %v of %v", client.OutcomeOf(err), err)
	}
}

// After MaxDuration nothing is granted any more, and who waits is told then. Leases
// granted before live to their end.
func TestMaxDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{options: shortTTL, policies: Policies{Default: Local{MaxTTL: maxTTL, MaxDuration: 30 * time.Second}}})
		ctx := context.Background()
		r.down()
		r.trip()
		start := time.Now()
		time.Sleep(maxTTL)
		lease, err := r.try("k", client.WithTTL(maxTTL))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		r.b.answered() // the quarantine begins anew
		_, err = r.Acquire(ctx, "other")
		wantBound(t, err, BoundDuration, `for longer than the 30s for which class "default" may be degraded`)
		if d := time.Since(start); d != 30*time.Second {
			t.Errorf("told after %v", d)
		}
		_, err = r.try("other")
		wantBound(t, err, BoundDuration, "30s")
		if lease.Context().Err() != nil {
			t.Error("the lease has ended")
		}
		<-lease.Context().Done()
		if d := time.Since(start); d != 2*maxTTL {
			t.Errorf("ended after %v", d)
		}
		wantIs(t, context.Cause(lease.Context()), client.ErrLost)
		r.up()
		time.Sleep(3 * time.Second)
		next, err := r.try("k")
		if err != nil || next.Degraded() {
			t.Errorf("when Redis is back: %v", err)
		}
		next.Release(ctx)
	})
}

func TestMaxLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{options: shortTTL, policies: Policies{Default: Local{MaxTTL: maxTTL, MaxLeases: 2, UnsafeSkipQuarantine: true}}})
		r.down()
		r.trip()
		var leases []*client.Lease
		for i := range 2 {
			l, err := r.try(fmt.Sprint(i))
			if err != nil {
				t.Fatal(err)
			}
			leases = append(leases, l)
		}
		_, err := r.Acquire(context.Background(), "third")
		wantBound(t, err, BoundLeases, `class "default" has the 2 degraded leases`)
		leases[0].Release(context.Background())
		l, err := r.try("third")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(ttl) // the others expire
		synctest.Wait()
		if l.Context().Err() == nil || leases[1].Context().Err() == nil {
			t.Error("they live")
		}
		r.wantLedger(0)
		r.up()
	})
}

func TestBoundsAreChecked(t *testing.T) {
	b, err := NewBreaker(BreakerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]Local{
		"negative duration":         {MaxTTL: time.Second, MaxDuration: -1},
		"all of it is quarantine":   {MaxTTL: time.Minute, MaxDuration: time.Minute},
		"negative number of leases": {MaxTTL: time.Second, MaxLeases: -1},
	} {
		if _, err := Degrade(b, Policies{Default: l}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Degrade(b, Policies{Default: Local{MaxTTL: time.Minute, MaxDuration: time.Second, UnsafeSkipQuarantine: true}}); err != nil {
		t.Error(err)
	}
}
