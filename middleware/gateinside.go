package middleware

import (
	"fmt"

	"github.com/holdfast-go/holdfast/client"
)

// ask is what one caller asks of a gate.
type ask struct {
	kind
	owner string // who may re-enter, empty for nobody
	barge bool   // in over those who wait, where those inside allow it
}

func asked(req client.Request) ask {
	a := ask{kind: kind{mode: req.Mode}, owner: req.Owner, barge: req.Barge}
	if req.Mode == client.SlotsMode {
		a.slots = req.Slots
	}
	return a
}

// kind is how a lock is held. All who hold it at a time do so in one kind.
type kind struct {
	mode  client.Mode
	slots int // at most so many together, in client.SlotsMode
}

var (
	exclusive = kind{mode: client.Exclusive}
	shared    = kind{mode: client.SharedMode}
)

// gate is the gate of one lock while anybody is inside. Its fields belong to the
// table's mutex.
type gate struct {
	name    lockName
	kind    kind           // of those inside
	inside  int            // those on their way to Redis, and those who hold a lease
	alike   int            // of these, those of the gate's kind: all but who was downgraded beside others
	leases  int            // of these, those who hold a lease
	owners  map[string]int // of these, those who have an owner, by its name
	failure error          // how Redis failed the last who came back from there, nil once it answered
	queue   queue
	holder  *client.Call // who got a lease last, while there is any
	leaving *client.Call // who is just leaving without the lock
}

// place is one caller's place inside a gate.
type place struct {
	gate  *gate
	kind  kind
	owner string
}

// kin tells whether a comes from an owner of those inside. It goes before all who
// wait: behind them the owner could wait for itself.
func (g *gate) kin(a ask) bool { return a.owner != "" && g.owners[a.owner] > 0 }

// fits tells whether a may be inside together with those who are.
func (g *gate) fits(a ask) bool {
	switch {
	case g.inside == 0:
		return true
	case a.kind != g.kind:
		return false
	case a.mode == client.SharedMode:
		return true
	case a.mode == client.SlotsMode:
		return g.inside < a.slots
	default:
		return g.kin(a)
	}
}

// admits tells whether a newcomer may go in at once.
func (g *gate) admits(a ask) bool {
	return g.fits(a) && (g.queue.first == nil || a.barge || g.kin(a))
}

// clash is why a can never get in as long as those inside stay, or as another than they
// are: it would wait for its own lease, or is mistaken about the slots.
func (g *gate) clash(a ask) error {
	switch {
	case g.kind == shared && a.kind == exclusive && g.kin(a):
		return errUpgrade
	case g.kind == exclusive && a.kind == shared && g.kin(a):
		return errDowngrade
	case g.kind.mode == client.SlotsMode && a.mode == client.SlotsMode && g.kind != a.kind && g.leases > 0:
		return fmt.Errorf("%w: the lock is held with %d slots inside this process, not %d", client.ErrInvalid, g.kind.slots, a.slots)
	}
	return nil
}

func (g *gate) letIn(a ask) {
	if g.inside == 0 {
		g.kind = a.kind
	}
	g.inside++
	g.alike++
	if a.owner != "" {
		if g.owners == nil {
			g.owners = make(map[string]int)
		}
		g.owners[a.owner]++
	}
}

// out takes one out, and lets in whose turn it is.
func (g *gate) out(p place) {
	g.inside--
	if p.kind == g.kind {
		g.alike--
	}
	if p.owner != "" {
		if g.owners[p.owner]--; g.owners[p.owner] == 0 {
			delete(g.owners, p.owner)
		}
	}
	g.advance()
}

// downgrade makes a shared place of an exclusive one.
func (g *gate) downgrade(p place) place {
	if p.kind == exclusive {
		p.kind = shared
		g.alike--
		g.advance()
	}
	return p
}

// advance lets in whose turn it is: from the head of the queue as many as fit, and
// all others of an owner who is inside.
func (g *gate) advance() {
	if g.alike == 0 && g.inside > 0 {
		g.kind, g.alike = shared, g.inside
	}
	for w := g.queue.first; w != nil && (w == g.queue.first || len(g.owners) > 0); w = w.next {
		if g.fits(w.ask) && (w == g.queue.first || g.kin(w.ask)) {
			g.queue.remove(w)
			g.letIn(w.ask)
			w.held, w.last, w.after = !g.failing(), g.holder, g.leaving
			g.leaving = nil
			close(w.in)
		}
	}
}
