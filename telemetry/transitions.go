package telemetry

import (
	"errors"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// maxTransitions is how many transitions a page remembers.
const maxTransitions = 100

// weight says how much a transition is to be worried about.
type weight string

const (
	good weight = "good"
	note weight = "note"
	bad  weight = "bad"
)

// transition is a change that somebody who looks at the page should know of. While
// all is well there are none. It holds keys, and no error text, which may hold them too.
type transition struct {
	at     time.Time
	weight weight
	what   string
	class  string
	of     *asked // nil for none
	detail string
	times  int // in a row; of is that of the last
}

// transitions are the last ones.
type transitions struct {
	mu   sync.Mutex
	ring [maxTransitions]transition
	n    int // so far
}

// add notes t, as a repetition where it says the same as the last one: an outage that
// ends a thousand leases does not drive out what came before it.
func (r *transitions) add(t transition) {
	t.at, t.times = time.Now(), 1
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n > 0 {
		last := &r.ring[(r.n-1)%maxTransitions]
		if last.what == t.what && last.class == t.class && last.detail == t.detail {
			t.times += last.times
			*last = t
			return
		}
	}
	r.ring[r.n%maxTransitions] = t
	r.n++
}

// all returns them, the latest first.
func (r *transitions) all() []transition {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]transition, 0, min(r.n, maxTransitions))
	for i := r.n - 1; i >= 0 && i >= r.n-maxTransitions; i-- {
		all = append(all, r.ring[i%maxTransitions])
	}
	return all
}

// noted has the page remember what an event of a lease tells.
func (w *watcher) noted(ev client.Event) {
	if w.t.page == nil {
		return
	}
	if ev.Kind == client.EventRenewed || ev.Kind == client.EventPromoted {
		w.ttl.Store(int64(time.Until(w.lease.Deadline())))
	}
	t := transition{class: w.class.name, of: w.asked}
	switch {
	case ev.Kind == client.EventRenewed && w.failing.CompareAndSwap(true, false):
		t.weight, t.what = good, "renewed again"
	case ev.Kind == client.EventRenewalFailed && w.failing.CompareAndSwap(false, true):
		t.weight, t.what, t.detail = bad, "renewals fail", client.ErrorType(ev.Err)
	case ev.Kind == client.EventReleased && errors.Is(ev.Err, client.ErrNotHeld):
		t.weight, t.what = bad, "released what was not held"
	case ev.Kind == client.EventReleased && ev.Err != nil:
		t.weight, t.what, t.detail = bad, "release not confirmed", client.ErrorType(ev.Err)
	case ev.Kind == client.EventDowngraded:
		t.weight, t.what = note, "downgraded to shared"
	case ev.Kind == client.EventPromoted:
		t.weight, t.what = good, "degraded lease promoted"
	case ev.Kind == client.EventEnded:
		t.weight, t.what, t.detail = bad, "lease ended: "+string(ev.Reason), string(ev.Loss)
		switch ev.Reason {
		case client.EndReleased:
			return
		case client.EndCanceled, client.EndClosed:
			t.weight = note
		}
	default:
		return
	}
	w.t.page.log.add(t)
}

// begun has the page remember a lease that this process alone knows of.
func (w *watcher) begun() {
	if w.t.page == nil {
		return
	}
	w.ttl.Store(int64(time.Until(w.lease.Deadline())))
	if w.lease.Degraded() {
		w.t.page.log.add(transition{weight: bad, what: "degraded lease", class: w.class.name, of: w.asked})
	}
}

// breaker has p remember a transition of the breaker called name.
func (p *Page) breaker(name, from, to string) {
	if p == nil {
		return
	}
	t := transition{weight: bad, what: "breaker " + to, detail: name + " was " + from}
	switch to {
	case "closed":
		t.weight = good
	case "half-open":
		t.weight = note
	}
	p.log.add(t)
}
