package fallback

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

const (
	maxTTL = 20 * time.Second
	ttl    = 5 * time.Second
)

var (
	atOnce     = Policies{Default: Local{MaxTTL: maxTTL, UnsafeSkipQuarantine: true}}
	quarantine = Policies{Default: Local{MaxTTL: maxTTL}}
	shortTTL   = []client.Option{client.WithTTL(ttl)}
)

func TestDegradeRefuses(t *testing.T) {
	b, err := NewBreaker(BreakerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]Policies{
		"no MaxTTL":       {Default: Local{UnsafeSkipQuarantine: true}},
		"negative MaxTTL": {Classes: map[string]Policy{"c": Local{MaxTTL: -time.Second}}},
		"tiny MaxTTL":     {Default: Local{MaxTTL: time.Microsecond}},
		"nil policy":      {Classes: map[string]Policy{"c": nil}},
		"pointer":         {Default: &Local{MaxTTL: time.Second}},
	} {
		if mw, err := Degrade(b, p); !errors.Is(err, client.ErrInvalid) || mw != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := Degrade(nil, Policies{}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("nil breaker: got %v", err)
	}
}

// C105, C107: by default an outage is an error, and not one that looks like a
// holder.
func TestFailClosedByDefault(t *testing.T) {
	for name, p := range map[string]Policies{
		"zero":        {},
		"by name":     {Default: Local{MaxTTL: maxTTL, UnsafeSkipQuarantine: true}, Classes: map[string]Policy{client.DefaultClass: FailClosed{}}},
		"other class": {Classes: map[string]Policy{"other": Local{MaxTTL: maxTTL, UnsafeSkipQuarantine: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newSim(t, setup{policies: p})
				r.down()
				for range 10 {
					lease, err := r.Acquire(context.Background(), "k", client.WithTTL(time.Hour))
					if lease != nil {
						t.Fatal("got a lease")
					}
					wantIs(t, err, client.ErrUnavailable)
					wantIsNot(t, err, client.ErrNotAcquired)
				}
				r.wantState(Open)
				if l := r.logs.with("degraded"); len(l) != 0 {
					t.Errorf("logged %v", l)
				}
			})
		})
	}
}

// C105: a degraded lease says so, to its holder and in the log, once per outage.
func TestLocal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: atOnce, options: shortTTL})
		for round := range 2 {
			r.down()
			r.trip()
			for range 3 {
				lease, err := r.try("k")
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := lease.Fence(); !lease.Degraded() || ok {
					t.Errorf("degraded %v, fence %v", lease.Degraded(), ok)
				}
				if left := time.Until(lease.Deadline()); left != ttl {
					t.Errorf("%v to the deadline, want %v", left, ttl)
				}
				_, err = r.try("k")
				wantIs(t, err, client.ErrNotAcquired)
				if err := lease.Release(context.Background()); err != nil {
					t.Error(err)
				}
			}
			if n := len(r.logs.with("WARN holdfast: degraded mode: ")); n != round+1 {
				t.Errorf("%d lines of log on entry", n)
			}
			if n := len(r.logs.with("degraded mode is over")); n != round {
				t.Errorf("%d lines of log on the end while it goes on", n)
			}
			r.up()
			time.Sleep(10 * time.Second)
			r.wantState(Closed)
			if n := len(r.logs.with("degraded mode is over: locks are taken in Redis again breaker=redis after=")); n != round+1 {
				t.Errorf("%d lines of log on the end", n)
			}
		}
		if n := len(r.logs.with("grants=3")); n != 2 {
			t.Errorf("lines of log: %v", r.logs.with("degraded"))
		}
	})
}

// The TTL of a degraded lease is enforced here, and nothing renews it.
func TestLocalExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: atOnce, options: shortTTL})
		r.down()
		r.trip()
		start := time.Now()
		lease, err := r.try("k")
		if err != nil {
			t.Fatal(err)
		}
		<-lease.Context().Done()
		if d := time.Since(start); d != ttl {
			t.Errorf("ended after %v", d)
		}
		wantIs(t, context.Cause(lease.Context()), client.ErrLost)
		wantIs(t, lease.Release(context.Background()), client.ErrNotHeld)
		synctest.Wait()
		next, err := r.try("k")
		if err != nil {
			t.Fatal(err)
		}
		next.Release(context.Background())
	})
}

// Nothing is granted locally in an outage that is over, or about to be.
func TestNoGrantAfterTheOutage(t *testing.T) {
	r, _ := newSim(t, setup{breaker: BreakerConfig{ProbeInterval: never}})
	o := newOutage(&OpenError{})
	unbounded := func(int) error { return nil }
	r.b.ledger.close(o)
	lease, _, closing, err := r.b.ledger.grant(o, client.Request{}, unbounded)
	if lease != nil || err != nil {
		t.Errorf("while it is being closed: %v, %v", lease, err)
	}
	r.b.ledger.reopen(o)
	<-closing
	if _, _, _, err = r.b.ledger.grant(o, client.Request{}, unbounded); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("when it goes on: %v", err) // the request came from no Client
	}
	close(o.over)
	if lease, _, closing, err = r.b.ledger.grant(o, client.Request{}, unbounded); lease != nil || err != nil {
		t.Errorf("when it is over: %v, %v", lease, err)
	}
	<-closing
}
