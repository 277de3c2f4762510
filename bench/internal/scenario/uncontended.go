package scenario

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/report"
)

// lockTTL is the TTL of locks in all scenarios but those of leases held.
const lockTTL = 10 * time.Second

func uncontended() []Scenario {
	rates := &report.Section{
		Title: "Uncontended",
		Text:  "Pairs of acquire and release in a second. Each goroutine takes a lock of its own, again and again.",
	}
	costs := &report.Section{
		Title: "What a pair costs the client",
		Text:  "One goroutine, uncontended: allocations and bytes of the whole process, and its CPU time, user and system.",
	}
	var all []Scenario
	for _, n := range []int{1, 16, 64, 256, 1024} {
		s := Scenario{
			Name:       fmt.Sprintf("uncontended/%d", n),
			Contenders: contender.All(),
			Metrics: []*report.Metric{{
				Section: rates, Head: count(n, "goroutine"), Better: report.Higher,
				Headline: "Uncontended pairs/s, " + count(n, "goroutine"),
				Chart:    n != 256,
			}},
			Run: func(e *Env, c contender.Contender) (Sample, error) { return runPairs(e, c, n, 0) },
		}
		if n == 1 {
			s.Metrics = append(s.Metrics,
				&report.Metric{Section: costs, Head: "allocations", Better: report.Lower},
				&report.Metric{Section: costs, Head: "allocated", Unit: "B", Better: report.Lower},
				&report.Metric{Section: costs, Head: "CPU", Unit: "µs", Better: report.Lower},
			)
			s.Run = runLonePairs
		}
		all = append(all, s)
	}
	return all
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return report.Thousands(n) + " " + what
}

// runPairs measures pairs per second of n goroutines.
func runPairs(e *Env, c contender.Contender, n int, rtt time.Duration) (Sample, error) {
	var s Sample
	err := withLocks(e, c, rtt, func(l contender.Locks) error {
		warm := pairs(l, n, e.Length/5)
		p := pairs(l, n, e.Length)
		s = Sample{Values: []float64{p.rate()}, Faults: append(warm.faults(), p.faults()...)}
		return nil
	})
	return s, err
}

// runLonePairs measures the cost of a pair as well.
func runLonePairs(e *Env, c contender.Contender) (Sample, error) {
	var s Sample
	err := withLocks(e, c, 0, func(l contender.Locks) error {
		p, each := costOf(l, e.Length)
		s = Sample{
			Values: []float64{p.rate(), each.allocations, each.bytes, float64(each.cpu.Nanoseconds()) / 1000},
			Faults: p.faults(),
		}
		return nil
	})
	return s, err
}
