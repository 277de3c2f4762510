package fallback

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/redis/go-redis/v9"
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

// Only an outage degrades. All else stays what it is, whatever the breaker's state.
func TestDegradesOnlyOnOutage(t *testing.T) {
	held := &client.HeldError{Holder: "other"}
	for name, err := range map[string]error{
		"held":             held,
		"refused":          client.ErrRefused,
		"closed":           client.ErrClosed,
		"invalid":          client.ErrInvalid,
		"a layer's own":    errors.New("quota"),
		"cancelled":        errors.Join(client.ErrUnavailable, context.Canceled),
		"timed out":        errors.Join(client.ErrUnavailable, &client.TimeoutError{Limit: "wait timeout", Wait: true}),
		"pool timed out":   errors.Join(client.ErrUnavailable, redis.ErrPoolTimeout),
		"pool exhausted":   errors.Join(client.ErrUnavailable, redis.ErrPoolExhausted),
		"redis was closed": errors.Join(client.ErrUnavailable, redis.ErrClosed),
	} {
		t.Run(name, func(t *testing.T) {
			b, mw := degradeOnly(t, atOnce)
			for range DefaultMinRequests {
				b.vote(client.Faulty)
			}
			c := overFake(t, mw, func(context.Context, client.Request) (*client.Lease, error) { return nil, err })
			lease, got := c.TryAcquire(context.Background(), "k", client.WithTTL(ttl))
			if lease != nil || !errors.Is(got, err) {
				t.Errorf("got %v, %v", lease, got)
			}
		})
	}
	unavailable := func(context.Context, client.Request) (*client.Lease, error) {
		return nil, errors.Join(client.ErrUnavailable, &client.TimeoutError{Limit: "attempt timeout"})
	}
	t.Run("breaker is closed", func(t *testing.T) {
		_, mw := degradeOnly(t, atOnce)
		for _, acquire := range []func(*client.Client) (*client.Lease, error){
			func(c *client.Client) (*client.Lease, error) { return c.TryAcquire(context.Background(), "k") },
			func(c *client.Client) (*client.Lease, error) { return c.Acquire(context.Background(), "k") },
		} {
			lease, err := acquire(overFake(t, mw, unavailable, shortTTL...))
			wantIs(t, err, client.ErrUnavailable)
			if lease != nil {
				t.Error("got a lease")
			}
		}
	})
	t.Run("caller has left", func(t *testing.T) {
		b, mw := degradeOnly(t, atOnce)
		for range DefaultMinRequests {
			b.vote(client.Faulty)
		}
		ctx, cancel := context.WithCancel(context.Background())
		c := overFake(t, mw, func(ctx context.Context, req client.Request) (*client.Lease, error) {
			cancel()
			return unavailable(ctx, req)
		}, shortTTL...)
		lease, err := c.TryAcquire(ctx, "k")
		wantIs(t, err, client.ErrUnavailable)
		if lease != nil {
			t.Error("got a lease")
		}
	})
	t.Run("an attempt timed out", func(t *testing.T) {
		b, mw := degradeOnly(t, atOnce)
		for range DefaultMinRequests {
			b.vote(client.Faulty)
		}
		lease, err := overFake(t, mw, unavailable, shortTTL...).TryAcquire(context.Background(), "k")
		if err != nil || !lease.Degraded() {
			t.Fatalf("got %v, %v", lease, err)
		}
		lease.Release(context.Background())
	})
	t.Run("mode is not exclusive", func(t *testing.T) {
		b, mw := degradeOnly(t, atOnce)
		for range DefaultMinRequests {
			b.vote(client.Faulty)
		}
		shared := func(next client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				req.Mode = client.Exclusive + 1
				return next(ctx, req)
			}
		}
		c := overFake(t, client.Chain(shared, mw), func(ctx context.Context, req client.Request) (*client.Lease, error) {
			if req.MaxTTL != maxTTL {
				t.Errorf("MaxTTL is %v", req.MaxTTL)
			}
			return unavailable(ctx, req)
		}, shortTTL...)
		lease, err := c.TryAcquire(context.Background(), "k")
		wantIs(t, err, client.ErrUnavailable)
		if lease != nil {
			t.Error("got a lease")
		}
	})
}

func degradeOnly(t *testing.T, p Policies) (*Breaker, client.Middleware) {
	t.Helper()
	b, err := NewBreaker(BreakerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	mw, err := Degrade(b, p)
	if err != nil {
		t.Fatal(err)
	}
	return b, mw
}

// overFake makes a Client of mw around core, which never calls Redis.
func overFake(t *testing.T, mw client.Middleware, core client.Handler, opts ...client.Option) *client.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{})
	t.Cleanup(func() { rdb.Close() })
	fake := func(client.Handler) client.Handler { return core }
	c, err := client.New(rdb, append(opts, client.WithMiddleware(mw, fake))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// MaxTTL holds in every mode, else the quarantine would be too short.
func TestMaxTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{policies: Policies{
			Classes: map[string]Policy{"local": Local{MaxTTL: maxTTL, UnsafeSkipQuarantine: true}},
		}})
		ctx := context.Background()
		class := client.WithClass("local")
		check := func(degraded bool) {
			t.Helper()
			for _, opts := range [][]client.AcquireOption{
				{class}, // the Client's default is 30 s
				{class, client.WithTTL(maxTTL + time.Millisecond)},
				{class, client.WithTTL(ttl), client.WithMinHold(maxTTL + time.Millisecond)},
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
