package fallback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/redis/go-redis/v9"
)

// An idle breaker closes again: no call is needed.
func TestProberClosesIdleBreaker(t *testing.T) {
	for _, trials := range []int{1, 3} {
		t.Run(fmt.Sprint(trials), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newSim(t, setup{breaker: BreakerConfig{HalfOpenRequests: trials}})
				r.down()
				r.trip()
				time.Sleep(time.Minute)
				r.wantState(Open)
				if n := len(r.logs.with("circuit breaker")); n != 1 {
					t.Errorf("%d transitions while Redis was down", n)
				}
				r.up()
				// Each success is one probe, and a probe comes every 0.8 to 1.2 s.
				time.Sleep(time.Duration(trials)*1200*time.Millisecond + 600*time.Millisecond)
				r.wantState(Closed)
			})
		})
	}
}

// The open timeout holds for probes too.
func TestProberHeedsOpenTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{breaker: BreakerConfig{OpenTimeout: 10 * time.Second}})
		r.trip()
		time.Sleep(9999 * time.Millisecond)
		r.wantState(Open)
		if r.probes() < 8 {
			t.Errorf("%d probes", r.probes())
		}
		time.Sleep(1202 * time.Millisecond)
		r.wantState(Closed)
	})
}

func TestProbeIsScratchWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, sim := newSim(t, setup{options: []client.Option{client.WithPrefix("app:")}})
		r.trip()
		time.Sleep(3500 * time.Millisecond)
		r.wantState(Closed)
		sent := r.probes()
		if sent < 2 || sent > 4 {
			t.Errorf("%d probes in 3.5 s", sent)
		}
		if got := sim.Miniredis().Keys(); len(got) != 1 || got[0] != "app:{__probe__}:probe" {
			t.Errorf("keys %v", got)
		}
		time.Sleep(time.Hour)
		if r.probes() != sent {
			t.Errorf("a closed breaker was probed %d times", r.probes()-sent)
		}
		if got := sim.Miniredis().Keys(); len(got) != 0 {
			t.Errorf("left %v", got)
		}
	})
}

// A server that cannot write keeps the breaker open; one that refuses the probe's
// key does not.
func TestProbeReplies(t *testing.T) {
	for reply, want := range map[string]State{
		"LOADING Redis is loading the dataset in memory":                            Open,
		"READONLY You can't write against a read only replica.":                     Open,
		"OOM command not allowed when used memory > 'maxmemory'.":                   Open,
		"MISCONF Redis is configured to save RDB snapshots":                         Open,
		"BUSY Redis is busy running a script.":                                      Open,
		"ERR max number of clients reached":                                         Open,
		"NOPERM No permissions to access a key":                                     Closed,
		"NOAUTH Authentication required.":                                           Closed,
		"ERR unknown command 'set', with args beginning with: 'x'":                  Closed,
		"WRONGTYPE Operation against a key holding the wrong kind of value (proxy)": Closed,
	} {
		t.Run(reply, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, sim := newSim(t, setup{redis: func(o *redis.Options) { o.MaxRetries = -1 }})
				warm(t, r, 1)
				sim.Miniredis().SetError(reply)
				r.trip()
				time.Sleep(10 * time.Second)
				r.wantState(want)
				sim.Miniredis().SetError("")
				time.Sleep(DefaultOpenTimeout + 3*time.Second)
				r.wantState(Closed)
			})
		})
	}
}

// With several trials to go a probe that fails or hangs ends the half-open state:
// nobody else may come to do it.
func TestProbeFailsHalfOpen(t *testing.T) {
	for name, fails := range map[string]func(*rig, *hangs){
		"refused": func(r *rig, h *hangs) { r.down() },
		"hangs":   func(r *rig, h *hangs) { h.on.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newSim(t, setup{breaker: BreakerConfig{HalfOpenRequests: 3}})
				h := &hangs{release: make(chan struct{})}
				r.rdb.AddHook(h)
				halfOpen := make(chan struct{}, 9)
				r.b.OnTransition(func(_, to State) {
					if to == HalfOpen {
						halfOpen <- struct{}{}
					}
				})
				r.trip()
				<-halfOpen
				fails(r, h)
				time.Sleep(1200*time.Millisecond + DefaultProbeTimeout + time.Millisecond)
				r.wantState(Open)
				r.up()
				h.on.Store(false)
				close(h.release)
				time.Sleep(DefaultOpenTimeout + 5*time.Second)
				r.wantState(Closed)
			})
		})
	}
}

// hangs is a hook that keeps SET from coming back while on, whatever its context.
type hangs struct {
	on      atomic.Bool
	release chan struct{}
	inside  atomic.Int32
	most    atomic.Int32
	panics  bool
}

func (h *hangs) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h *hangs) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *hangs) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "set" && h.on.Load() {
			if h.panics {
				panic("hook")
			}
			h.most.Store(max(h.most.Load(), h.inside.Add(1)))
			<-h.release
			h.inside.Add(-1)
		}
		return next(ctx, cmd)
	}
}

// A probe that hangs inside the redis client, deaf to its context, is left alone:
// there is one at most, and probing goes on when it comes back.
func TestProbeHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{})
		h := &hangs{release: make(chan struct{})}
		h.on.Store(true)
		r.rdb.AddHook(h)
		r.trip()
		time.Sleep(time.Minute)
		r.wantState(Open)
		if got := h.most.Load(); got != 1 {
			t.Errorf("%d probes hung at a time", got)
		}
		h.on.Store(false)
		close(h.release)
		time.Sleep(1300 * time.Millisecond)
		r.wantState(Closed)
	})
}

func TestProbePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{})
		h := &hangs{panics: true}
		h.on.Store(true)
		r.rdb.AddHook(h)
		r.trip()
		time.Sleep(time.Minute)
		r.wantState(Open)
		h.on.Store(false)
		time.Sleep(1300 * time.Millisecond)
		r.wantState(Closed)
	})
}

// After Close nothing is probed. A probe that hangs is waited for as long as the
// context allows.
func TestCloseEndsProber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{})
		r.down()
		r.trip()
		time.Sleep(5 * time.Second)
		if err := r.b.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.up()
		r.proxy.ResetStats()
		time.Sleep(time.Minute)
		if r.probes() != 0 {
			t.Errorf("%d probes after Close", r.probes())
		}
		// It still works without: a trial closes it, an outage opens it, unprobed.
		lease, err := r.try("k")
		if err != nil {
			t.Fatal(err)
		}
		lease.Release(context.Background())
		r.wantState(Closed)
		r.trip()
		time.Sleep(time.Minute)
		r.wantState(Open)
		if err := r.b.Close(context.Background()); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{})
		h := &hangs{release: make(chan struct{})}
		h.on.Store(true)
		r.rdb.AddHook(h)
		r.trip()
		time.Sleep(5 * time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		start := time.Now()
		err := r.b.Close(ctx)
		wantIs(t, err, context.DeadlineExceeded)
		if d := time.Since(start); d != 3*time.Second || !strings.HasPrefix(err.Error(), `holdfast: breaker "redis": `) {
			t.Errorf("after %v: %v", d, err)
		}
		close(h.release)
		if err := r.b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestJudge(t *testing.T) {
	for err, want := range map[error]client.Verdict{
		nil:                                  client.Healthy,
		redis.ErrPoolTimeout:                 client.Neutral,
		redis.ErrPoolExhausted:               client.Neutral,
		redis.ErrClosed:                      client.Neutral,
		context.DeadlineExceeded:             client.Faulty,
		net.ErrClosed:                        client.Faulty,
		errors.New("LOADING by a hook"):      client.Faulty,
		redis.ErrCrossSlot:                   client.Healthy,
		&net.OpError{Err: net.ErrClosed}:     client.Faulty,
		fmt.Errorf("x: %w", redis.ErrClosed): client.Neutral,
	} {
		if got := judge(err); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
}
