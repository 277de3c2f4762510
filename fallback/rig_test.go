package fallback

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/middleware"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// never is a probe interval for tests in which no probe may interfere.
const never = 1000 * time.Hour

// patient keeps a busy machine from looking like a slow server.
var patient = []client.Option{client.WithCommandTimeout(30 * time.Second)}

// rig is a Client behind gate, degrade layer and breaker. What it needs of Redis
// goes through a proxy.
type rig struct {
	*client.Client
	t     *testing.T
	b     *Breaker
	proxy *redistest.Proxy
	rdb   *redis.Client
	logs  *journal
}

// setup says how a rig differs from the default.
type setup struct {
	breaker  BreakerConfig
	policies Policies
	below    client.Middleware // between breaker and core
	options  []client.Option
	redis    func(*redis.Options)
}

// newSim makes a rig on a simulated Redis, for use in a bubble.
func newSim(t *testing.T, s setup) (*rig, *redistest.Sim) {
	t.Helper()
	sim := redistest.NewSim(t)
	return newRig(t, sim.Proxy(), simOptions(s)), sim
}

// simOptions fits s to a bubble: there go-redis must not negotiate maintenance
// notifications, for which it holds a mutex over I/O, and never wait for a
// connection of its pool, for which it takes timers from other bubbles.
func simOptions(s setup) setup {
	edit := s.redis
	s.redis = func(o *redis.Options) {
		o.PoolSize = 1000
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		if edit != nil {
			edit(o)
		}
	}
	return s
}

func newRig(t *testing.T, proxy *redistest.Proxy, s setup) *rig {
	t.Helper()
	r := &rig{t: t, proxy: proxy, logs: new(journal)}
	r.rdb = proxy.Client(t, func(o *redis.Options) {
		if s.redis != nil {
			s.redis(o)
		}
	})
	if s.breaker.Logger == nil {
		s.breaker.Logger = slog.New(r.logs)
	}
	var err error
	if r.b, err = NewBreaker(s.breaker); err != nil {
		t.Fatal(err)
	}
	degrade, err := Degrade(r.b, s.policies)
	if err != nil {
		t.Fatal(err)
	}
	opts := append([]client.Option{
		client.WithGate(fmt.Sprintf("%s %p", t.Name(), r)), // each rig plays a process
		client.WithLogger(slog.New(r.logs)),
		client.WithPipeline(func(a *client.Assembly) ([]client.Layer, error) {
			if err := r.b.Attach(a); err != nil {
				return nil, err
			}
			return []client.Layer{
				{Name: "gate", Middleware: middleware.Gate()},
				{Name: "degrade", Middleware: degrade},
				{Name: "poll", Middleware: poll},
				{Name: "breaker", Middleware: r.b.Middleware()},
				{Name: "below", Middleware: client.Chain(s.below)},
			}, nil
		}),
	}, s.options...)
	if r.Client, err = client.New(r.rdb, opts...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		r.Close(ctx)
	})
	return r
}

// poll waits for a lock that is held, in place of the retry layer.
func poll(next client.Handler) client.Handler {
	return func(ctx context.Context, req client.Request) (*client.Lease, error) {
		for {
			lease, err := next(ctx, req)
			if !req.Wait || !errors.Is(err, client.ErrNotAcquired) || ctx.Err() != nil {
				return lease, err
			}
			select {
			case <-time.After(47 * time.Millisecond):
			case <-ctx.Done():
				return nil, client.WaitEnded(ctx, req, err)
			}
		}
	}
}

// try is TryAcquire with a context of its own.
func (r *rig) try(key string, opts ...client.AcquireOption) (*client.Lease, error) {
	return r.TryAcquire(context.Background(), key, opts...)
}

// trip opens the breaker by votes.
func (r *rig) trip() {
	r.t.Helper()
	for range DefaultMinRequests {
		r.b.vote(client.Faulty)
	}
	r.wantState(Open)
}

func (r *rig) wantState(want State) {
	r.t.Helper()
	if got := r.b.State(); got != want {
		r.t.Fatalf("breaker is %v, want %v", got, want)
	}
}

// down makes Redis refuse connections, as a server that was killed does.
func (r *rig) down() {
	r.proxy.Refuse(true)
	r.proxy.Reset()
}

func (r *rig) up() { r.proxy.Refuse(false) }

// scripts is how many scripts were sent to Redis.
func (r *rig) scripts() (n int) {
	for _, c := range r.proxy.Commands() {
		if c.Script() {
			n++
		}
	}
	return n
}

// probes is how many probes were sent to Redis.
func (r *rig) probes() int { return r.proxy.Stats().Commands["SET"] }

// journal keeps lines of log.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %s", r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %v", a)
		return true
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, b.String())
	return nil
}

// with returns the lines that contain text.
func (j *journal) with(text string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.lines), func(l string) bool { return !strings.Contains(l, text) })
}

func wantIs(t *testing.T, err error, wanted ...error) {
	t.Helper()
	for _, w := range wanted {
		if !errors.Is(err, w) {
			t.Errorf("error %v does not match %v", err, w)
		}
	}
}

func wantIsNot(t *testing.T, err error, unwanted ...error) {
	t.Helper()
	for _, u := range unwanted {
		if errors.Is(err, u) {
			t.Errorf("error %v matches %v", err, u)
		}
	}
}
