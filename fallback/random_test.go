package fallback

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// step is one thing that happens to two processes and their Redis.
type step struct {
	What    string
	Process int
	Key     int
	Number  int
}

var steps = rapid.Custom(func(t *rapid.T) step {
	return step{
		What: rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "release", "release", "extend", "trip", "down", "up", "cut", "heal",
			"drop", "sleep", "sleep", "crash", "drill", "no drill"}).Draw(t, "what"),
		Process: rapid.IntRange(0, 1).Draw(t, "process"),
		Key:     rapid.IntRange(0, 2).Draw(t, "key"),
		Number:  rapid.IntRange(1, 40).Draw(t, "number"),
	}
})

// play is a run of steps. It collects what is wrong, for the shrinking of rapid.
type play struct {
	t     *testing.T
	sim   *redistest.Sim
	procs [2]*process
	wrong []string
}

type process struct {
	*rig
	drill  *Drill
	leases []*client.Lease
}

func (p *play) fail(format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

func (p *play) start(i int) {
	drill := new(Drill)
	p.procs[i] = &process{drill: drill, rig: newRig(p.t, p.sim.Proxy(), simOptions(setup{
		policies: Policies{Default: Local{MaxTTL: maxTTL, UnsafeSkipQuarantine: true}, Drill: drill},
		options:  []client.Option{client.WithTTL(ttl), client.WithCommandTimeout(211 * time.Millisecond)},
		breaker: BreakerConfig{Window: time.Second, MinRequests: 3, OpenTimeout: 307 * time.Millisecond, ProbeInterval: 199 * time.Millisecond,
			ProbeTimeout: 173 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)},
		redis: func(o *redis.Options) { o.MaxRetries = -1; o.DialerRetries = 1 },
	}))}
}

func (p *play) do(s step) {
	proc := p.procs[s.Process]
	ctx, cancel := context.WithTimeout(context.Background(), 401*time.Millisecond)
	defer cancel()
	switch s.What {
	case "acquire":
		opts := []client.AcquireOption{client.WithTTL(time.Duration(s.Number) * 307 * time.Millisecond)}
		if s.Number%3 == 0 {
			opts = append(opts, client.WithoutRenewal())
		}
		lease, err := proc.TryAcquire(context.Background(), fmt.Sprint(s.Key), opts...)
		if err != nil {
			return
		}
		for _, other := range proc.leases {
			if other.Key() == lease.Key() && other.Context().Err() == nil && lease.Context().Err() == nil {
				p.fail("two leases of %s in one process", lease.Key())
			}
		}
		proc.leases = append(proc.leases, lease)
	case "release":
		if n := len(proc.leases); n > 0 {
			i := s.Number % n
			_ = proc.leases[i].Release(ctx)
			proc.leases = slices.Delete(proc.leases, i, i+1)
		}
	case "extend":
		if n := len(proc.leases); n > 0 {
			_ = proc.leases[s.Number%n].Extend(ctx, time.Duration(s.Number)*101*time.Millisecond)
		}
	case "trip":
		for range 10 {
			proc.b.vote(client.Faulty)
		}
	case "down":
		proc.down()
	case "up":
		proc.up()
	case "cut":
		proc.proxy.Cut()
	case "heal":
		proc.proxy.Heal()
	case "drop":
		proc.proxy.DropReplies(s.Number % 4)
	case "sleep":
		time.Sleep(time.Duration(s.Number) * 53 * time.Millisecond)
	case "crash":
		proc.down()
		proc.proxy.Heal()
		dead, cancel := context.WithCancel(context.Background())
		cancel()
		_ = proc.Close(dead)
		p.start(s.Process)
	case "drill":
		_ = proc.drill.Begin("default")
	case "no drill":
		proc.drill.End("default")
	}
}

// check looks at what must hold at all times: nobody shares a lock that Redis granted
// with another who has it from Redis.
func (p *play) check() {
	for key := range 3 {
		var fenced int
		for _, proc := range p.procs {
			for _, l := range proc.leases {
				if l.Key() == fmt.Sprint(key) && l.Context().Err() == nil && !l.Degraded() {
					fenced++
				}
			}
		}
		if fenced > 1 {
			p.fail("%d have lock %d from Redis", fenced, key)
		}
	}
}

// end has all be well again: then nothing may be left of what was.
func (p *play) end() {
	for _, proc := range p.procs {
		proc.up()
		proc.proxy.Heal()
		proc.drill.End("default")
		for range 300 { // replies that are still to be lost
			if proc.rdb.Eval(context.Background(), "return 1", nil).Err() == nil {
				break
			}
		}
		for _, l := range proc.leases {
			_ = l.Release(context.Background())
		}
	}
	time.Sleep(3 * maxTTL)
	synctest.Wait()
	for i, proc := range p.procs {
		if len(proc.b.ledger.entries) != 0 || len(proc.b.ledger.classes) != 0 {
			p.fail("process %d: %d leases are left in the ledger", i, len(proc.b.ledger.entries))
		}
		if proc.b.State() != Closed {
			p.fail("process %d: the breaker is %v", i, proc.b.State())
		}
		for key := range 3 {
			if p.sim.Miniredis().Exists(fmt.Sprintf("holdfast:{%d}", key)) {
				p.fail("lock %d is held in Redis by nobody", key)
			}
			lease, err := proc.try(fmt.Sprint(key))
			if err != nil || lease.Degraded() {
				p.fail("process %d: lock %d at the end: %v, degraded %v", i, key, err, lease.Degraded())
			}
			if err := lease.Release(context.Background()); err != nil {
				p.fail("process %d: lock %d at the end: %v", i, key, err)
			}
		}
	}
}

// Whatever happens in whatever order: a process has a lock once, what Redis granted is
// held by one, a release goes where its lease is, and after an outage nothing is left.
func TestRandomOutages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		run := rapid.SliceOfN(steps, 1, 40).Draw(rt, "steps")
		var p *play
		synctest.Test(t, func(t *testing.T) {
			p = &play{t: t, sim: redistest.NewSim(t)}
			p.start(0)
			p.start(1)
			for _, s := range run {
				p.do(s)
				p.check()
			}
			p.end()
		})
		if len(p.wrong) > 0 {
			rt.Fatalf("%q", p.wrong)
		}
	})
}
