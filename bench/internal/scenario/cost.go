package scenario

import (
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
)

// cost is what a pair costs this process.
type cost struct {
	allocations, bytes float64
	cpu                time.Duration
}

// costOf has one goroutine take and release a lock for a while, and counts.
func costOf(l contender.Locks, length time.Duration) (tally, cost) {
	pairs(l, 1, length/5)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := cpuTime()
	p := pairs(l, 1, length)
	cpu = cpuTime() - cpu
	runtime.ReadMemStats(&after)
	n := max(p.done, 1)
	return p, cost{
		allocations: float64(after.Mallocs-before.Mallocs) / float64(n),
		bytes:       float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
		cpu:         cpu / time.Duration(n),
	}
}
