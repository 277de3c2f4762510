package fallback

import (
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// ledger has the degraded leases that live, each under the outage in which it was
// granted. An outage that is being closed gets no further ones, so that it is over
// only when the last of them is in Redis or has ended.
type ledger struct {
	mu      sync.Mutex
	entries map[*client.Lease]*entry
	classes map[string]int // how many of each class
}

type entry struct {
	lease  *client.Lease
	class  string
	outage *outage
}

// grant makes a local lease, unless o is over or being closed: then closing is closed
// when it is worth to ask again. exceeded may refuse, by how many leases of the class
// there are; first says that it is the first grant of o.
func (g *ledger) grant(o *outage, req client.Request, exceeded func(leases int) error) (lease *client.Lease, first bool, closing <-chan struct{}, err error) {
	lease, first, closing, err = g.enter(o, req, exceeded)
	if lease != nil {
		lease.Observe(func(ev client.Event) {
			if ev.Kind == client.EventPromoted || ev.Kind == client.EventEnded {
				g.drop(lease)
			}
		})
	}
	return lease, first, closing, err
}

func (g *ledger) enter(o *outage, req client.Request, exceeded func(leases int) error) (*client.Lease, bool, <-chan struct{}, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case o.isOver():
		return nil, false, o.over, nil
	case o.closers > 0:
		return nil, false, o.closing, nil
	}
	if err := exceeded(g.classes[req.Class]); err != nil {
		return nil, false, nil, err
	}
	lease, err := client.NewLocalLease(req)
	if err != nil {
		return nil, false, nil, err
	}
	if g.entries == nil {
		g.entries, g.classes = make(map[*client.Lease]*entry), make(map[string]int)
	}
	g.entries[lease] = &entry{lease, req.Class, o}
	g.classes[req.Class]++
	o.tally.grants++
	return lease, o.tally.grants == 1, nil, nil
}

func (g *ledger) drop(l *client.Lease) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remove(l)
}

func (g *ledger) remove(l *client.Lease) {
	e := g.entries[l]
	if e == nil {
		return
	}
	delete(g.entries, l)
	if g.classes[e.class]--; g.classes[e.class] == 0 {
		delete(g.classes, e.class)
	}
}

// holds tells whether a lease of o lives.
func (g *ledger) holds(o *outage) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.entries {
		if e.outage == o {
			return true
		}
	}
	return false
}

// close begins to close o, and returns the leases that there are. Each call is
// followed by one of reopen.
func (g *ledger) close(o *outage) []*entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o.closers++; o.closers == 1 {
		o.closing = make(chan struct{})
	}
	var left []*entry
	for _, e := range g.entries {
		if e.outage == o {
			left = append(left, e)
		}
	}
	// Those that end next go first.
	slices.SortFunc(left, func(a, b *entry) int { return a.lease.Deadline().Compare(b.lease.Deadline()) })
	return left
}

// reopen ends what close began. Where o is not over it gets leases again.
func (g *ledger) reopen(o *outage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o.closers--; o.closers == 0 {
		close(o.closing)
	}
}

// reconciled takes a lease out whose fate is known.
func (g *ledger) reconciled(e *entry, r Result) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remove(e.lease)
	e.outage.tally.results[r]++
}

func (g *ledger) tallyOf(o *outage) tally {
	g.mu.Lock()
	defer g.mu.Unlock()
	return o.tally
}

// tally is what came of an outage.
type tally struct {
	grants  int
	results [resultCount]int
}

// degradedFor is for how long o has gone on, by the clock that is further on: what is
// bounded ends early rather than late.
func (o *outage) degradedFor() time.Duration {
	now := instantNow()
	return max(now.mono.Sub(o.began.mono), now.wall.Sub(o.began.wall))
}
