package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// The cases are faults that other lock libraries were reported to have. Each is a
// test that names its number and runs on a redis-server of its own. Their bounds
// are generous, the machine may be busy: what they tell apart is seconds from the
// TTL, or the whole of a context.

const (
	// soon bounds what takes no longer than a few round trips.
	soon = 5 * time.Second
	// patience bounds what may have to wait for a TTL of a few seconds.
	patience = 30 * time.Second
)

// soak tells whether to run the cases at their full size, which takes minutes.
func soak() bool { return os.Getenv("HOLDFAST_SOAK") == "1" }

// rounds is how often to repeat something.
func rounds(usual, full int) int {
	if soak() {
		return full
	}
	return usual
}

// site is a redis-server of a test's own, with a proxy in front of it.
type site struct {
	*testing.T
	ctx   context.Context
	srv   *redistest.Server
	proxy *redistest.Proxy
	rdb   *redis.Client // to look into the server
}

// newSite starts the server, with args, for a test that runs beside others.
func newSite(t *testing.T, args ...string) *site {
	t.Helper()
	t.Parallel()
	return newSoleSite(t, args...)
}

// newSoleSite is newSite for a test that counts goroutines or memory: it runs
// while no other does.
func newSoleSite(t *testing.T, args ...string) *site {
	t.Helper()
	srv := redistest.Start(t, args...)
	return &site{T: t, ctx: t.Context(), srv: srv, proxy: redistest.NewProxy(t, srv.Addr()), rdb: srv.Client(t)}
}

var processes atomic.Int32

// process returns a Client as of a process of its own: it shares no gate with
// others. It reaches the server directly.
func (s *site) process(opts ...holdfast.Option) *holdfast.Client {
	s.Helper()
	return s.client(s.srv.Client(s), opts...)
}

// proxied is process through the proxy.
func (s *site) proxied(opts ...holdfast.Option) *holdfast.Client {
	s.Helper()
	return s.client(s.proxy.Client(s), opts...)
}

// client gives the Client time-outs that a busy machine keeps; opts come after.
func (s *site) client(rdb redis.UniversalClient, opts ...holdfast.Option) *holdfast.Client {
	s.Helper()
	c, err := holdfast.New(rdb, append([]holdfast.Option{
		holdfast.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
		holdfast.WithGate(fmt.Sprint("process ", processes.Add(1))),
		holdfast.WithAttemptTimeout(4 * time.Second),
		holdfast.WithCommandTimeout(4 * time.Second),
	}, opts...)...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(ctx)
	})
	return c
}

// acquire takes the lock, which others may hold for a few seconds yet.
func (s *site) acquire(c *holdfast.Client, key string, opts ...holdfast.AcquireOption) *holdfast.Lease {
	s.Helper()
	l, err := c.Acquire(s.ctx, key, append([]holdfast.AcquireOption{holdfast.WithWaitTimeout(patience)}, opts...)...)
	if err != nil {
		s.Fatal(err)
	}
	return l
}

// refused checks that another has the lock.
func (s *site) refused(c *holdfast.Client, key string) {
	s.Helper()
	if _, err := c.TryAcquire(s.ctx, key); !errors.Is(err, holdfast.ErrNotAcquired) || errors.Is(err, holdfast.ErrUnavailable) {
		s.Fatalf("TryAcquire of a lock that is held: %v", err)
	}
}

func (s *site) release(l *holdfast.Lease) {
	s.Helper()
	if err := l.Release(s.ctx); err != nil {
		s.Error(err)
	}
}

// lost waits until the lease ends, and checks that it was lost.
func (s *site) lost(l *holdfast.Lease, within time.Duration) {
	s.Helper()
	select {
	case <-l.Context().Done():
	case <-time.After(within):
		s.Fatalf("the holder is not told in %v", within)
	}
	if cause := context.Cause(l.Context()); !errors.Is(cause, holdfast.ErrLost) {
		s.Errorf("cause %v", cause)
	}
}

func record(key string) string { return "holdfast:{" + key + "}" }

// held tells whether there is a holder record.
func (s *site) held(key string) bool {
	s.Helper()
	n, err := s.rdb.Exists(s.ctx, record(key)).Result()
	if err != nil {
		s.Fatal(err)
	}
	return n == 1
}

// ttl is what the holder record has left, negative if there is none.
func (s *site) ttl(key string) time.Duration {
	s.Helper()
	d, err := s.rdb.PTTL(s.ctx, record(key)).Result()
	if err != nil {
		s.Fatal(err)
	}
	return d
}

// del takes the holder record away, as an eviction or an operator does.
func (s *site) del(key string) {
	s.Helper()
	if n := s.rdb.Del(s.ctx, record(key)).Val(); n != 1 {
		s.Fatalf("%s was not there", record(key))
	}
}

// records are the holder records there are.
func (s *site) records() (keys []string) {
	s.Helper()
	all, err := s.rdb.Keys(s.ctx, "holdfast:*").Result()
	if err != nil {
		s.Fatal(err)
	}
	for _, k := range all {
		if strings.HasSuffix(k, "}") {
			keys = append(keys, k)
		}
	}
	return keys
}

// extends counts the renewals and Extends among commands: six keys, a token and a
// TTL. (A poll has six keys, a token and a fence, which is larger by far, or 0.)
func extends(commands []redistest.Command) (n int) {
	for _, c := range commands {
		if c.Script() && len(c.Args) == 2+6+2 && c.Args[1] == "6" {
			if ttl, err := strconv.ParseInt(c.Args[9], 10, 64); err == nil && 0 < ttl && ttl < 1e12 {
				n++
			}
		}
	}
	return n
}

// only checks that err matches want and no other of the sentinels.
func (s *site) only(err, want error) {
	s.Helper()
	for _, e := range []error{holdfast.ErrNotAcquired, holdfast.ErrNotHeld, holdfast.ErrLost, holdfast.ErrReleased,
		holdfast.ErrUnavailable, holdfast.ErrRefused, holdfast.ErrClosed, holdfast.ErrInvalid} {
		if errors.Is(err, e) != (e == want) {
			s.Errorf("error %v: matches %q: %v", err, e, errors.Is(err, e))
		}
	}
}

// await waits until met is true.
func (s *site) await(what string, met func() bool) {
	s.Helper()
	for start := time.Now(); !met(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > patience {
			s.Fatalf("%s: not in %v", what, patience)
		}
	}
}

// within checks that fn takes no longer than limit.
func (s *site) within(limit time.Duration, what string, fn func()) {
	s.Helper()
	start := time.Now()
	fn()
	if d := time.Since(start); d > limit {
		s.Errorf("%s took %v, allowed are %v", what, d, limit)
	}
}
