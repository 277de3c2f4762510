package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// behindProxy makes a Client on a simulated Redis behind a proxy.
func behindProxy(t *testing.T, opts ...client.Option) (*client.Client, *redistest.Proxy) {
	t.Helper()
	proxy := redistest.NewSim(t).Proxy()
	w := &world{t: t, rdb: proxy.Client(t), ctx: t.Context()}
	c := w.client(opts...)
	l := must[*client.Lease](t)(c.Acquire(t.Context(), "warm"))
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	proxy.ResetStats()
	return c, proxy
}

// Of many commands at a time a few go at once and the others share round trips; alone
// each has its own.
func TestCommandsShareRoundTrips(t *testing.T) {
	const n = 64
	for name, opts := range map[string][]client.Option{"shared": nil, "each its own": {client.WithoutSharedRoundTrips()}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, proxy := behindProxy(t, opts...)
				proxy.Delay(5 * time.Millisecond)
				var work sync.WaitGroup
				for i := range n {
					work.Go(func() {
						l, err := c.Acquire(t.Context(), fmt.Sprint(i))
						if err != nil {
							t.Error(err)
							return
						}
						if err := l.Release(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				work.Wait()
				s := proxy.Stats()
				if s.Commands["EVALSHA"] != 2*n {
					t.Errorf("%d commands", s.Commands["EVALSHA"])
				}
				if shares := s.RoundTrips <= n/2; shares != (len(opts) == 0) {
					t.Errorf("%d round trips for %d commands", s.RoundTrips, 2*n)
				}
			})
		})
	}
}

// Commands that hang keep no others from being sent.
func TestNobodyWaitsBehindACommandThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, proxy := behindProxy(t)
		proxy.DropRepliesSilently(4)
		var hung sync.WaitGroup
		for i := range 4 {
			hung.Go(func() { _, _ = c.Acquire(t.Context(), fmt.Sprint("hung", i)) })
		}
		synctest.Wait()
		start := time.Now()
		l, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > 150*time.Millisecond {
			t.Errorf("it took %v", d)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		hung.Wait()
	})
}

// A command whose caller leaves before it is sent is not sent at all, and a release
// whose caller does is sent all the same.
func TestWhoLeavesTheQueueOfCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, proxy := behindProxy(t, client.WithTTL(time.Hour))
		l := must[*client.Lease](t)(c.Acquire(t.Context(), "k"))
		proxy.Delay(10 * time.Millisecond)
		var work sync.WaitGroup
		for i := range 4 {
			work.Go(func() { _, _ = c.Acquire(t.Context(), fmt.Sprint(i)) })
		}
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		work.Go(func() {
			if _, err := c.Acquire(ctx, "never"); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		work.Go(func() { _ = l.Release(ctx) })
		synctest.Wait()
		cancel()
		work.Wait()
		time.Sleep(time.Second)
		for _, cmd := range proxy.Commands() {
			if cmd.Script() && cmd.Args[2] == "holdfast:{never}" {
				t.Errorf("sent after its caller had left: %v", cmd)
			}
		}
		if info := must[client.Info](t)(c.Inspect(t.Context(), "k")); info.Held {
			t.Error("the release was not sent")
		}
	})
}

// hang is a hook of the redis client that keeps commands until it is opened.
type hang struct {
	on   atomic.Bool
	open chan struct{}
}

func (h *hang) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *hang) wait() {
	if h.on.Load() {
		<-h.open
	}
}

func (h *hang) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.wait()
		return next(ctx, cmd)
	}
}

func (h *hang) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.wait()
		return next(ctx, cmds)
	}
}

// While too many commands hang, one that waits to be sent is bounded too.
func TestACommandThatIsNotSentIsBounded(t *testing.T) {
	simulate(t, func(w *world) {
		h := &hang{open: make(chan struct{})}
		w.rdb.AddHook(h)
		c := w.client(client.WithTTL(time.Hour))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		h.on.Store(true)
		var all sync.WaitGroup
		for range 256 {
			all.Go(func() { _, _ = c.Inspect(w.ctx, "x") })
			time.Sleep(60 * time.Millisecond)
		}
		start := time.Now()
		if err := l.Extend(context.Background(), 2*time.Hour); !errors.Is(err, client.ErrUnavailable) {
			t.Error(err)
		}
		if d := time.Since(start); d > 2*client.DefaultCommandTimeout {
			t.Errorf("it took %v", d)
		}
		h.on.Store(false)
		close(h.open)
		all.Wait()
		if err := l.Extend(w.ctx, 2*time.Hour); err != nil {
			t.Error(err)
		}
	})
}
