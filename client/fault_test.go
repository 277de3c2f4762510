package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// These tests run on a real redis-server behind a proxy that loses what it is told
// to. The redis clients have go-redis's default options: no context time-outs,
// retries on.

func realClient(t *testing.T, rdb redis.UniversalClient, opts ...client.Option) *client.Client {
	t.Helper()
	quiet := client.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	c := must[*client.Client](t)(client.New(rdb, append([]client.Option{quiet}, opts...)...))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// within fails the test when fn takes longer than limit, and returns its error.
func within(t *testing.T, limit time.Duration, what string, fn func() error) error {
	t.Helper()
	start := time.Now()
	err := fn()
	if d := time.Since(start); d > limit {
		t.Errorf("%s took %v, allowed are %v", what, d, limit)
	}
	return err
}

// slack is what a call may take beyond its context on a noisy machine. The
// promise is 50 ms at p99.
const slack = 500 * time.Millisecond

func TestAWarmPairIsTwoCommandsAndTwoRoundTrips(t *testing.T) {
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv.Addr())
	c, ctx := realClient(t, proxy.Client(t)), t.Context()
	pair := func() {
		l := must[*client.Lease](t)(c.Acquire(ctx, "k"))
		if err := l.Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
	pair()
	proxy.ResetStats()
	for range 10 {
		pair()
	}
	if s := proxy.Stats(); s.Total() != 20 || s.RoundTrips != 20 || s.Commands["EVALSHA"] != 20 {
		t.Fatalf("10 pairs: %+v", s)
	}
}

// C021: the grant that nobody learnt of is taken back, and does not wait for its TTL.
func TestALostAcquireReplyFreesTheLockSoon(t *testing.T) {
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv.Addr())
	a, b := realClient(t, proxy.Client(t)), realClient(t, srv.Client(t))
	proxy.DropRepliesSilently(1)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := within(t, 200*time.Millisecond+slack, "Acquire", func() error { return second(a.Acquire(ctx, "k")) })
	if !errors.Is(err, client.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	start := time.Now()
	l := awaitFree(t, b, "k")
	if d := time.Since(start); d > 5*time.Second { // the TTL is 30 s
		t.Errorf("free after %v", d)
	}
	_ = l.Release(t.Context())
}

// awaitFree polls until the lock can be had.
func awaitFree(t *testing.T, c *client.Client, key string) *client.Lease {
	t.Helper()
	for {
		l, err := c.TryAcquire(t.Context(), key)
		if err == nil {
			return l
		}
		if !errors.Is(err, client.ErrNotAcquired) {
			t.Fatal(err)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("never free")
		}
	}
}

// C078: the script is sent again after a lost reply; the count stays one.
func TestAResentAcquireIsGrantedOnce(t *testing.T) {
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv.Addr())
	twice := func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			if l, err := next(ctx, req); err == nil {
				t.Errorf("go-redis sent it again behind our back: %v", l)
			}
			return next(ctx, req)
		}
	}
	c, rdb := realClient(t, proxy.Client(t), client.WithMiddleware(twice)), srv.Client(t)
	for _, opts := range [][]client.AcquireOption{nil, {client.WithOwner("o")}} {
		proxy.DropReplies(1)
		l := must[*client.Lease](t)(c.Acquire(t.Context(), "k", opts...))
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := rdb.Exists(t.Context(), "holdfast:{k}", "holdfast:{k}:members").Val(); n != 0 {
			t.Fatal("one release left it locked")
		}
	}
}

func TestALostReleaseReplyIsNoLoss(t *testing.T) {
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv.Addr())
	c, b := realClient(t, proxy.Client(t), client.WithCommandTimeout(300*time.Millisecond)), realClient(t, srv.Client(t))
	for name, drop := range map[string]func(){
		"connection closed": func() { proxy.DropReplies(1) },
		"silence":           func() { proxy.DropRepliesSilently(1) },
	} {
		t.Run(name, func(t *testing.T) {
			l := must[*client.Lease](t)(c.Acquire(t.Context(), "k"))
			drop()
			if err := l.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			must[*client.Lease](t)(b.TryAcquire(t.Context(), "k")).Release(t.Context())
		})
	}
}

// A server that is frozen over both the acquire and its clean-up may run them in
// any order when it wakes: no grant is left, whichever comes first.
func TestAServerFrozenOverAcquireAndCleanUpKeepsNoOrphan(t *testing.T) {
	srv := redistest.Start(t)
	rdb := srv.Client(t)
	const n = 40
	c := realClient(t, srv.Client(t, func(o *redis.Options) { o.PoolSize = 2 * n }), client.WithCommandTimeout(300*time.Millisecond))
	for i := range n { // warm connections
		must[*client.Lease](t)(c.Acquire(t.Context(), fmt.Sprint("warm", i))).Release(t.Context())
	}
	srv.Freeze()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := c.Acquire(ctx, fmt.Sprint("k", i)); !errors.Is(err, client.ErrUnavailable) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	<-time.After(time.Second) // the clean-up has been sent, more than once, and waits in the server's buffers
	srv.Thaw()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Close(ctx); err != nil { // waits for the clean-up
		t.Fatal(err)
	}
	for _, k := range rdb.Keys(t.Context(), "holdfast:{k*").Val() {
		if strings.HasSuffix(k, "}") {
			t.Errorf("orphan %s", k)
		}
	}
	for _, k := range rdb.Keys(t.Context(), "*").Val() {
		if ttl := rdb.PTTL(t.Context(), k).Val(); ttl < 0 {
			t.Errorf("%s has no TTL", k)
		} else if strings.Contains(k, ":withdrawn:") && ttl > time.Minute {
			t.Errorf("the tombstone lives for %v", ttl)
		}
	}
}

func TestATombstoneRefusesTheLateAcquire(t *testing.T) {
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv.Addr())
	// The acquire goes through the proxy, which keeps it; the clean-up overtakes it.
	routed := &router{UniversalClient: proxy.Client(t), cleanup: srv.Client(t)}
	c := realClient(t, routed, client.WithCommandTimeout(200*time.Millisecond))
	must[*client.Lease](t)(c.Acquire(t.Context(), "warm")).Release(t.Context())
	proxy.Cut()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Acquire(ctx, "k"); !errors.Is(err, client.ErrUnavailable) {
		t.Fatal(err)
	}
	rdb := srv.Client(t)
	await(t, "the tombstone", func() bool { return len(rdb.Keys(t.Context(), "*withdrawn*").Val()) == 1 })
	proxy.ResetStats()
	proxy.Heal()
	proxy.Await(t, "the late acquire", func(s redistest.Stats) bool { return s.Replies["EVALSHA"] >= 1 })
	if n := rdb.Exists(t.Context(), "holdfast:{k}").Val(); n != 0 {
		t.Fatal("the late acquire was granted to nobody")
	}
}

// router sends pipelines, which clean up, to a server of their own choice.
type router struct {
	redis.UniversalClient
	cleanup *redis.Client
}

func (r *router) Pipeline() redis.Pipeliner { return r.cleanup.Pipeline() }

func await(t *testing.T, what string, met func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !met() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// An attempt without an answer, then one that is granted, under one token: nothing
// is cleaned up.
func TestTheCleanUpNeverTakesAGrant(t *testing.T) {
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv.Addr())
	again := func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			short, cancel := context.WithTimeoutCause(ctx, 100*time.Millisecond, &client.TimeoutError{Limit: "attempt timeout"})
			defer cancel()
			if l, err := next(short, req); err == nil || !errors.Is(err, client.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, %v", l, err)
			}
			return next(ctx, req)
		}
	}
	c := realClient(t, proxy.Client(t), client.WithMiddleware(again))
	rdb := srv.Client(t)
	for i := range 10 {
		key := fmt.Sprint("k", i)
		proxy.DropRepliesSilently(1)
		l := must[*client.Lease](t)(c.Acquire(t.Context(), key))
		if n := rdb.Exists(t.Context(), "holdfast:{"+key+"}").Val(); n != 1 {
			t.Fatal("granted, and not in Redis")
		}
		defer l.Release(t.Context())
		defer func() {
			if l.Context().Err() != nil {
				t.Errorf("%s: %v", key, context.Cause(l.Context()))
			}
		}()
	}
	proxy.Await(t, "all acquires", func(s redistest.Stats) bool { return s.Replies["EVALSHA"] >= 20 })
	for _, cmd := range proxy.Commands() {
		for _, arg := range cmd.Args {
			if strings.Contains(arg, "withdrawn") && len(cmd.Args) == 2+7+3 { // the keys and arguments of a release
				t.Fatalf("a clean-up was sent: %v", cmd)
			}
		}
	}
}

// C117, C102, C107: whatever state the server is in, a call returns with its
// context, and says that Redis could not be asked.
func TestNoCallOutlivesItsContext(t *testing.T) {
	for name, breakIt := range map[string]func(t *testing.T, srv *redistest.Server, proxy *redistest.Proxy){
		"refused":        func(_ *testing.T, _ *redistest.Server, p *redistest.Proxy) { p.Refuse(true); p.Reset() },
		"killed":         func(_ *testing.T, s *redistest.Server, _ *redistest.Proxy) { s.Kill() },
		"frozen":         func(_ *testing.T, s *redistest.Server, _ *redistest.Proxy) { s.Freeze() },
		"black hole":     func(_ *testing.T, _ *redistest.Server, p *redistest.Proxy) { p.Cut() },
		"new black hole": func(_ *testing.T, _ *redistest.Server, p *redistest.Proxy) { p.Reset(); p.Cut() },
		"read-only": func(t *testing.T, s *redistest.Server, _ *redistest.Proxy) {
			s.Do(t, "REPLICAOF", "127.0.0.1", "1")
		},
		"full": func(t *testing.T, s *redistest.Server, _ *redistest.Proxy) {
			s.Do(t, "CONFIG", "SET", "maxmemory", "1")
		},
		"no replicas": func(t *testing.T, s *redistest.Server, _ *redistest.Proxy) {
			s.Do(t, "CONFIG", "SET", "min-replicas-to-write", "1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t)
			proxy := redistest.NewProxy(t, srv.Addr())
			c := realClient(t, proxy.Client(t))
			l := must[*client.Lease](t)(c.Acquire(t.Context(), "held", client.WithoutRenewal()))
			breakIt(t, srv, proxy)
			const limit = 150 * time.Millisecond
			for op, call := range map[string]func(ctx context.Context) error{
				"Acquire":    func(ctx context.Context) error { return second(c.Acquire(ctx, "a")) },
				"TryAcquire": func(ctx context.Context) error { return second(c.TryAcquire(ctx, "b")) },
				"Extend":     func(ctx context.Context) error { return l.Extend(ctx, time.Minute) },
			} {
				limit := limit
				full := op == "Extend" && name == "full"
				if full { // it works, and a busy machine may take its time
					limit = 20 * time.Second
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				err := within(t, limit+slack, op, func() error { return call(ctx) })
				cancel()
				// Redis may have answered that it cannot; then the ctx is no part of it.
				if !full && (!errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrNotAcquired) || errors.Is(err, client.ErrNotHeld)) {
					t.Errorf("%s: %v", op, err)
				}
				if full && err != nil {
					t.Errorf("%s must work while the server is full: %v", op, err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			err := within(t, limit+slack, "Release", func() error { return l.Release(ctx) })
			if name == "full" && err != nil || name != "full" && !errors.Is(err, client.ErrUnavailable) {
				t.Errorf("Release: %v", err)
			}
		})
	}
}

// A call without a deadline is bounded by the Client's own command timeout, and
// its error names that instead of a context that never ended (C120).
func TestABareContextIsBoundedByTheCommandTimeout(t *testing.T) {
	srv := redistest.Start(t)
	c := realClient(t, srv.Client(t), client.WithCommandTimeout(200*time.Millisecond))
	must[*client.Lease](t)(c.Acquire(t.Context(), "warm")).Release(t.Context())
	srv.Freeze()
	err := within(t, 200*time.Millisecond+slack, "Acquire", func() error { return second(c.Acquire(context.Background(), "k")) })
	if !errors.Is(err, client.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "command timeout") {
		t.Fatal(err)
	}
}

func TestAnEndedContextSendsNothing(t *testing.T) {
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv.Addr())
	c := realClient(t, proxy.Client(t))
	l := must[*client.Lease](t)(c.Acquire(t.Context(), "held"))
	proxy.ResetStats()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for op, err := range map[string]error{
		"Acquire": second(c.Acquire(ctx, "k")), "Inspect": second(c.Inspect(ctx, "k")),
		"Break": c.Break(ctx, "k"), "Extend": l.Extend(ctx, time.Minute),
	} {
		if !errors.Is(err, context.Canceled) || !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("%s: %v", op, err)
		}
	}
	if n := proxy.Stats().Total(); n != 0 {
		t.Errorf("%d commands", n)
	}
}
