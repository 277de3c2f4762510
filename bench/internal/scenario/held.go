package scenario

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/report"
)

// held is what many leases that are kept alive cost.
func held(quick bool) []Scenario {
	sizes, ttl := []int{10_000, 50_000}, lockTTL
	if quick {
		sizes, ttl = []int{200, 1000}, 900*time.Millisecond
	}
	contenders := append([]contender.Contender{contender.Pooled}, waiting()...)
	var all []Scenario
	for i, n := range sizes {
		s := &report.Section{
			Title: report.Thousands(n) + " leases held",
			Text: fmt.Sprintf("All are renewed every third of a TTL of %v s. CPU is the client's, user and system, in 10 s. Goroutines, heap "+
				"and stacks are what the leases add, the latter two for each. redsync and redislock renew nothing by themselves: they "+
				"have a goroutine and a ticker for each lock, like plain go-redis here. Lost are those that were gone at their release.", ttl.Seconds()),
		}
		size := report.Thousands(n)
		all = append(all, Scenario{
			Name:       fmt.Sprintf("held/%d", n),
			Contenders: contenders,
			Slow:       true,
			Metrics: []*report.Metric{
				{Section: s, Head: "CPU", Unit: "s", Better: report.Lower, Headline: size + " leases held: client CPU in 10 s", Chart: i == len(sizes)-1},
				{Section: s, Head: "goroutines", Better: report.Lower},
				{Section: s, Head: "heap", Unit: "B", Better: report.Lower, Headline: size + " leases held: heap for each"},
				{Section: s, Head: "stacks", Unit: "B", Better: report.Lower},
				{Section: s, Head: "lost", Better: report.Lower},
			},
			Run: func(e *Env, c contender.Contender) (Sample, error) { return keepAll(e, c, n, ttl) },
		})
	}
	return all
}

// keepAll takes n leases, keeps them for a TTL, and releases them.
func keepAll(e *Env, c contender.Contender, n int, ttl time.Duration) (s Sample, err error) {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("lease:%d", i)
	}
	leases := make([]contender.Lease, n)
	before := footprint()
	l, err := c.Open(contender.Options{Addr: e.Addr, TTL: ttl, Renew: true})
	if err != nil {
		return s, err
	}
	defer func() {
		stopRenewals(leases)
		err = errors.Join(err, l.Close())
	}()
	ctx := context.Background()
	taken, err := each(n, func(i int) (err error) {
		leases[i], err = l.Acquire(ctx, keys[i])
		return err
	})
	if err != nil {
		return s, fmt.Errorf("taking the leases: %w", err)
	}
	cpu := cpuTime()
	time.Sleep(ttl)
	cpu = cpuTime() - cpu
	after := footprint()
	stopRenewals(leases)
	lost, err := each(n, func(i int) error {
		if leases[i] == nil {
			return nil
		}
		return leases[i].Release(ctx)
	})
	if err != nil {
		return s, fmt.Errorf("releasing them: %w", err)
	}
	s.Faults = append(taken.faults(), lost.faults()...)
	s.Values = []float64{
		cpu.Seconds() * float64(10*time.Second) / float64(ttl),
		float64(after.goroutines - before.goroutines),
		max(0, after.heap-before.heap) / float64(n),
		max(0, after.stacks-before.stacks) / float64(n),
		float64(lost.failed),
	}
	return s, nil
}

// stopRenewals ends the renewals that libraries leave to their users. Before the
// releases, which are not measured, it frees the connections for these.
func stopRenewals(leases []contender.Lease) {
	for _, l := range leases {
		if r, ok := l.(interface{ StopRenewal() }); ok {
			r.StopRenewal()
		}
	}
}

// each calls fn for 0 to n-1, from several goroutines.
func each(n int, fn func(int) error) (tally, error) {
	const (
		at    = 64 // a time
		limit = time.Minute
	)
	parts := make([]tally, at)
	var next atomic.Int64
	var work sync.WaitGroup
	start := time.Now()
	for w := range at {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && time.Since(start) < limit; i = int(next.Add(1)) - 1 {
				if err := fn(i); err != nil {
					parts[w].fail(err)
				}
				parts[w].done++
			}
		})
	}
	work.Wait()
	t := sum(parts)
	if t.done < int64(n) {
		return t, fmt.Errorf("only %d of %d were done within %v", t.done, n, limit)
	}
	return t, nil
}

type usage struct {
	goroutines   int
	heap, stacks float64
}

// footprint is what the process uses, garbage aside.
func footprint() usage {
	runtime.GC()
	runtime.GC() // what the first one freed of pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{runtime.NumGoroutine(), float64(m.HeapAlloc), float64(m.StackInuse)}
}
