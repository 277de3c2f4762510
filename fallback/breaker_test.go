package fallback

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/redis/go-redis/v9"
)

func TestNewBreakerRefuses(t *testing.T) {
	for name, cfg := range map[string]BreakerConfig{
		"ratio negative":      {FailureRatio: -0.1},
		"ratio above 1":       {FailureRatio: 1.01},
		"ratio not a number":  {FailureRatio: math.NaN()},
		"requests negative":   {MinRequests: -1},
		"requests overflow":   {MinRequests: math.MaxInt32 + 1},
		"half-open negative":  {HalfOpenRequests: -1},
		"window negative":     {Window: -time.Second},
		"window too short":    {Window: time.Microsecond},
		"timeout negative":    {OpenTimeout: -1},
		"interval negative":   {ProbeInterval: -1},
		"probe time negative": {ProbeTimeout: -1},
	} {
		if b, err := NewBreaker(cfg); !errors.Is(err, client.ErrInvalid) || b != nil {
			t.Errorf("%s: got %v, %v", name, b, err)
		}
	}
}

func TestAttachOnce(t *testing.T) {
	b, err := NewBreaker(BreakerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	pipeline := client.WithPipeline(func(a *client.Assembly) ([]client.Layer, error) { return nil, b.Attach(a) })
	rdb := redis.NewClient(&redis.Options{})
	defer rdb.Close()
	if _, err := client.New(rdb, pipeline); err != nil {
		t.Fatal(err)
	}
	_, err = client.New(rdb, pipeline)
	wantIs(t, err, client.ErrInvalid)
}

// C104, the breaker's half: the ratio counts what the server did wrong, within the
// window, and nothing else.
func TestTripRule(t *testing.T) {
	const ok, bad, nothing = client.Healthy, client.Faulty, client.Neutral
	type vote struct {
		after time.Duration
		n     int
		v     client.Verdict
	}
	for _, tt := range []struct {
		name  string
		cfg   BreakerConfig
		votes []vote
		want  State
	}{
		{"too few", BreakerConfig{}, []vote{{0, 4, bad}}, Closed},
		{"just enough", BreakerConfig{}, []vote{{0, 5, bad}}, Open},
		{"half of them", BreakerConfig{}, []vote{{0, 5, ok}, {0, 5, bad}}, Open},
		{"fewer than half", BreakerConfig{}, []vote{{0, 6, ok}, {0, 5, bad}}, Closed},
		{"not in a row", BreakerConfig{}, []vote{{0, 2, bad}, {0, 1, ok}, {0, 1, bad}, {0, 1, ok}, {0, 1, bad}}, Open},
		{"what tells nothing makes no number", BreakerConfig{}, []vote{{0, 50, nothing}, {0, 4, bad}}, Closed},
		{"what tells nothing dilutes nothing", BreakerConfig{}, []vote{{0, 50, nothing}, {0, 5, bad}}, Open},
		{"forgotten after the window", BreakerConfig{}, []vote{{0, 4, bad}, {5500 * time.Millisecond, 4, bad}}, Closed},
		{"remembered within it", BreakerConfig{}, []vote{{0, 4, bad}, {4400 * time.Millisecond, 1, bad}}, Open},
		{"the window slides", BreakerConfig{}, []vote{{4700 * time.Millisecond, 4, bad}, {3 * time.Second, 1, bad}}, Open},
		{"old successes go as well", BreakerConfig{}, []vote{{0, 100, ok}, {5500 * time.Millisecond, 5, bad}}, Open},
		{"idle for an hour", BreakerConfig{}, []vote{{0, 100, ok}, {time.Hour, 5, bad}}, Open},
		{"other ratio", BreakerConfig{FailureRatio: 0.8}, []vote{{0, 2, ok}, {0, 7, bad}}, Closed},
		{"other ratio reached", BreakerConfig{FailureRatio: 0.8}, []vote{{0, 2, ok}, {0, 8, bad}}, Open},
		{"other minimum", BreakerConfig{MinRequests: 1}, []vote{{0, 1, bad}}, Open},
		{"other window", BreakerConfig{Window: time.Minute}, []vote{{0, 4, bad}, {45 * time.Second, 1, bad}}, Open},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, err := NewBreaker(tt.cfg)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range tt.votes {
					time.Sleep(v.after)
					for range v.n {
						b.vote(v.v)
					}
				}
				if got := b.State(); got != tt.want {
					t.Fatalf("breaker is %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// C112: an open breaker answers at once, by an error of its own that says so.
func TestRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var call *client.Call
		r, _ := newSim(t, setup{breaker: BreakerConfig{Name: "orders", ProbeInterval: never}})
		r.trip()
		opened := r.b.Since()
		time.Sleep(time.Second)
		h := r.b.Middleware()(nil)
		spy := client.WithMiddleware(func(client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				call = req.Call()
				return h(ctx, req)
			}
		})
		c, err := client.New(r.rdb, spy)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		start := time.Now()
		_, err = c.Acquire(ctx, "k")
		if d := time.Since(start); d != 0 {
			t.Errorf("refusal took %v", d)
		}
		wantIs(t, err, client.ErrUnavailable)
		wantIsNot(t, err, client.ErrNotAcquired, client.ErrRefused, client.ErrInvalid, client.ErrClosed, context.DeadlineExceeded)
		var open *OpenError
		if !errors.As(err, &open) || open.Breaker != "orders" || !open.Since.Equal(opened) || !open.ShortCircuit() {
			t.Errorf("got %#v", open)
		}
		if got := client.OutcomeOf(err); got != client.OutcomeRejected {
			t.Errorf("outcome is %v", got)
		}
		if call.ShortCircuits() != 1 || call.Attempts() != 0 {
			t.Errorf("%d short circuits, %d attempts", call.ShortCircuits(), call.Attempts())
		}
		var e *client.Error
		if !errors.As(err, &e) || e.Op != "acquire" || e.Key != "k" {
			t.Errorf("got %#v", e)
		}
		want := `holdfast: acquire "k": redis unavailable: circuit breaker "orders" is open since 2000-01-01T00:00:00Z (5 of 5 commands failed within 5s)`
		if !strings.HasPrefix(strings.Replace(err.Error(), opened.Format(time.RFC3339), "2000-01-01T00:00:00Z", 1), want) {
			t.Errorf("text is %q", err)
		}
		if n := r.proxy.Stats().Total(); n != 0 {
			t.Errorf("%d commands reached Redis", n)
		}
	})
}

// Callers who leave long before a command meets its bound still open the breaker
// in front of a black hole.
func TestShortDeadlinesOpenIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{breaker: BreakerConfig{ProbeInterval: never}})
		r.proxy.Cut()
		for range DefaultMinRequests {
			r.wantState(Closed)
			ctx, cancel := context.WithTimeout(context.Background(), 101*time.Millisecond)
			start := time.Now()
			_, err := r.Acquire(ctx, "k")
			cancel()
			wantIs(t, err, client.ErrUnavailable, context.DeadlineExceeded)
			if d := time.Since(start); d != 101*time.Millisecond {
				t.Errorf("call took %v", d)
			}
		}
		time.Sleep(client.DefaultCommandTimeout)
		r.wantState(Open)
		r.proxy.Heal()
	})
}

// C104 again: neither a storm of cancellations nor a pool that is too small is the
// server's fault.
func TestHealthyServerKeepsItClosed(t *testing.T) {
	storm := func(t *testing.T, r *rig, leave time.Duration) {
		t.Helper()
		var wg sync.WaitGroup
		var failed atomic.Int32
		for i := range 50 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), leave)
				defer cancel()
				lease, err := r.Acquire(ctx, string(rune('a'+i)))
				if err != nil {
					failed.Add(1)
				}
				lease.Release(context.Background())
			})
		}
		wg.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := r.Close(ctx); err != nil { // after this all commands have ended
			t.Error(err)
		}
		r.wantState(Closed)
		if got := r.b.cb.Counts().TotalFailures; got != 0 || failed.Load() < DefaultMinRequests {
			t.Errorf("%d failures were counted, %d calls failed", got, failed.Load())
		}
	}
	t.Run("cancelled in flight", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, _ := newSim(t, setup{})
			r.proxy.Delay(53 * time.Millisecond)
			storm(t, r, 71*time.Millisecond)
		})
	})
	t.Run("cancelled before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, _ := newSim(t, setup{})
			storm(t, r, 0)
		})
	})
	t.Run("pool exhausted", func(t *testing.T) {
		r := newRig(t, redistest.NewSim(t).Proxy(), setup{
			redis:   func(o *redis.Options) { o.PoolSize, o.PoolTimeout = 1, 10*time.Millisecond },
			options: []client.Option{client.WithoutSharedRoundTrips()}, // else it takes more to exhaust it
		})
		r.proxy.Delay(20 * time.Millisecond)
		storm(t, r, 5*time.Second)
	})
	t.Run("held", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, _ := newSim(t, setup{})
			other, err := client.New(r.rdb, client.WithGate("other"))
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close(context.Background())
			lease, err := other.Acquire(context.Background(), "a")
			if err != nil {
				t.Fatal(err)
			}
			for range 50 {
				_, err := r.try("a")
				wantIs(t, err, client.ErrNotAcquired)
				wantIsNot(t, err, client.ErrUnavailable)
			}
			r.wantState(Closed)
			lease.Release(context.Background())
		})
	})
}

// C107: what the server says decides what counts.
func TestReplies(t *testing.T) {
	for reply, want := range map[string]struct {
		err   error
		state State
	}{
		"LOADING Redis is loading the dataset in memory":                      {client.ErrUnavailable, Open},
		"READONLY You can't write against a read only replica.":               {client.ErrUnavailable, Open},
		"OOM command not allowed when used memory > 'maxmemory'.":             {client.ErrUnavailable, Open},
		"CLUSTERDOWN The cluster is down":                                     {client.ErrUnavailable, Open},
		"NOPERM this user has no permissions to run the 'evalsha' command":    {client.ErrRefused, Closed},
		"NOAUTH Authentication required.":                                     {client.ErrRefused, Closed},
		"WRONGTYPE Operation against a key holding the wrong kind of value":   {client.ErrRefused, Closed},
		"ERR Error running script: @user_script:1: Script attempted nonsense": {client.ErrRefused, Closed},
	} {
		t.Run(strings.Fields(reply)[0], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, sim := newSim(t, setup{breaker: BreakerConfig{ProbeInterval: never},
					redis: func(o *redis.Options) { o.MaxRetries = -1 }})
				if err := r.rdb.Ping(context.Background()).Err(); err != nil {
					t.Fatal(err)
				}
				sim.Miniredis().SetError(reply)
				for range DefaultMinRequests {
					_, err := r.try("k")
					wantIs(t, err, want.err)
					wantIsNot(t, err, client.ErrNotAcquired)
				}
				r.wantState(want.state)
				sim.Miniredis().SetError("")
			})
		})
	}
}
