package fallback

import (
	"sync"
	"sync/atomic"
	"time"
)

// instant is a moment by both clocks: Go's monotonic one stops while the machine
// sleeps, and the wall clock may be set.
type instant struct{ mono, wall time.Time }

func instantNow() instant {
	t := time.Now()
	return instant{mono: t, wall: t.Round(0)}
}

// left is what remains at now of a wait of d that began at i. The wait is over
// when it is by both clocks, so neither a suspend nor a step of the wall clock
// cuts it short.
func (i instant) left(now instant, d time.Duration) time.Duration {
	return d - min(now.mono.Sub(i.mono), now.wall.Sub(i.wall))
}

// outage is one stretch of time in which the breaker is not closed.
type outage struct {
	began   instant
	refusal *OpenError
	over    chan struct{} // closed when the breaker is
	drill   bool          // nothing but a drill

	// The ledger's, under its mutex.
	tally   tally
	closers int           // those who close it at present
	closing chan struct{} // closed when they are done

	// The prober's.
	needed int         // probes in a row that must pass
	passed int         // of them, so far
	steady atomic.Bool // as many have
	known  bool        // it was asked which server answers

	mu     sync.Mutex
	silent instant // since when Redis has answered nothing
}

func newOutage(refusal *OpenError) *outage {
	now := instantNow()
	refusal.Since = now.wall
	return &outage{began: now, silent: now, refusal: refusal, over: make(chan struct{})}
}

// answered notes that Redis has just answered something.
func (o *outage) answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.silent = instantNow()
}

// silence is how much longer Redis has to stay silent until it was so for d.
func (o *outage) silence(d time.Duration) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.silent.left(instantNow(), d)
}

func (o *outage) isOver() bool {
	select {
	case <-o.over:
		return true
	default:
		return false
	}
}
