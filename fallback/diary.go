package fallback

import (
	"sync"
	"time"
)

// diary keeps which outage led to local grants, for the two lines of log about it.
type diary struct {
	mu     sync.Mutex
	outage *outage // nil outside of degraded mode
	grants int
}

// granted notes a local grant. The first of an outage begins degraded mode.
func (d *degrader) granted(o *outage, class string) {
	d.diary.mu.Lock()
	defer d.diary.mu.Unlock()
	if d.diary.outage == nil {
		d.diary.outage = o
		d.breaker.cfg.Logger.Warn("holdfast: degraded mode: locks exclude this process only",
			"breaker", d.breaker.cfg.Name, "class", class, "since", o.refusal.Since)
	}
	d.diary.grants++
	if o.isOver() {
		d.healthy() // the breaker closed while this was granted
	}
}

// transition ends degraded mode when the breaker closes.
func (d *degrader) transition(_, to State) {
	if to == Closed {
		d.diary.mu.Lock()
		defer d.diary.mu.Unlock()
		d.healthy()
	}
}

func (d *degrader) healthy() {
	if o := d.diary.outage; o != nil && o.isOver() {
		d.breaker.cfg.Logger.Info("holdfast: degraded mode is over: locks are taken in Redis again",
			"breaker", d.breaker.cfg.Name, "after", time.Since(o.began.mono), "grants", d.diary.grants)
		d.diary.outage, d.diary.grants = nil, 0
	}
}
