package middleware

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/client"
)

// crowd does random things at one gate, one after another, and keeps book of who is
// inside and who waits.
type crowd struct {
	t       *testing.T
	rnd     *rand.Rand
	history []string
	inside  []place
	waiting []*guest
}

// guest is one who waits.
type guest struct {
	req   client.Request
	place place
	*waiter
}

func (c *crowd) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("%s\nafter %s", fmt.Sprintf(format, args...), strings.Join(c.history, ", "))
}

func (c *crowd) did(format string, args ...any) {
	c.history = append(c.history, fmt.Sprintf(format, args...))
}

func (c *crowd) request() client.Request {
	req := client.Request{Key: c.t.Name(), Wait: c.rnd.IntN(5) > 0, Barge: c.rnd.IntN(6) == 0}
	switch c.rnd.IntN(6) {
	case 0, 1, 2:
		req.Mode = client.SharedMode
	case 3, 4:
		req.Mode, req.Slots = client.SlotsMode, 1+c.rnd.IntN(3)
	}
	if req.Slots == 0 && c.rnd.IntN(3) == 0 {
		req.Owner = string(rune('x' + c.rnd.IntN(2)))
	}
	return req
}

func (c *crowd) arrives() {
	req := c.request()
	c.did("arrives %v", asked(req))
	mayEnter := c.joins(asked(req)) && (len(c.waiting) == 0 || req.Barge || c.kin(req.Owner))
	p, w, err := gates.arrive(req, req.Key)
	switch in := err == nil && w == nil; {
	case in != mayEnter:
		c.fail("it is in: %t, want %t", in, mayEnter)
	case in:
		c.inside = append(c.inside, p)
	case err == nil && !req.Wait:
		c.fail("one who does not wait does")
	case w != nil:
		c.waiting = append(c.waiting, &guest{req, p, w})
	}
}

func (c *crowd) goes() {
	i := c.rnd.IntN(len(c.inside))
	p := c.inside[i]
	c.inside = slices.Delete(c.inside, i, i+1)
	c.did("%v %q goes", p.kind, p.owner)
	if c.rnd.IntN(2) == 0 {
		gates.keep(p, nil)
		gates.free(p)
	} else {
		gates.leave(p, nil, client.ErrUnavailable)
	}
}

func (c *crowd) givesUp() {
	i := c.rnd.IntN(len(c.waiting))
	g := c.waiting[i]
	c.waiting = slices.Delete(c.waiting, i, i+1)
	c.did("%v gives up", g.ask)
	if gates.giveUp(g.place, g.waiter, g.req) == nil {
		c.fail("it is told nothing")
	}
}

func (c *crowd) downgrades() {
	i := c.rnd.IntN(len(c.inside))
	c.did("%v is downgraded", c.inside[i].kind)
	c.inside[i] = gates.downgrade(c.inside[i])
}

// settles takes in whom the gate has let in, and checks that it is their turn.
func (c *crowd) settles() {
	for i := 0; i < len(c.waiting); {
		g := c.waiting[i]
		if !isOpen(g.in) {
			i++
			continue
		}
		if i > 0 && !c.kin(g.req.Owner) {
			c.fail("%v has overtaken %v", g.ask, c.waiting[0].ask)
		}
		c.waiting = slices.Delete(c.waiting, i, i+1)
		c.inside = append(c.inside, g.place)
	}
	c.agree()
	for i, g := range c.waiting {
		if c.joins(g.ask) && (i == 0 || c.kin(g.req.Owner)) {
			c.fail("%v waits for nothing", g.ask)
		}
	}
}

// agree checks that those inside can hold the lock together.
func (c *crowd) agree() {
	for i, p := range c.inside {
		for _, q := range c.inside[:i] {
			same := p.owner != "" && p.owner == q.owner
			downgraded := same && min(p.kind.mode, q.kind.mode) == client.Exclusive && max(p.kind.mode, q.kind.mode) == client.SharedMode
			if p.kind != q.kind && !downgraded || p.kind == exclusive && q.kind == exclusive && !same {
				c.fail("%v %q is inside beside %v %q", p.kind, p.owner, q.kind, q.owner)
			}
		}
		if p.kind.mode == client.SlotsMode && len(c.inside) > p.kind.slots {
			c.fail("%d are inside of %d slots", len(c.inside), p.kind.slots)
		}
	}
}

// joins tells whether a can hold the lock together with all who are inside.
func (c *crowd) joins(a ask) bool {
	same, strangers := 0, 0
	for _, p := range c.inside {
		if p.kind == a.kind {
			same++
		}
		if a.owner == "" || a.owner != p.owner {
			strangers++
		}
	}
	switch {
	case len(c.inside) == 0:
		return true
	case a.kind == exclusive: // of its owner's others some may have been downgraded
		return same > 0 && strangers == 0
	case a.mode == client.SlotsMode && len(c.inside) >= a.slots:
		return false
	default:
		return same == len(c.inside)
	}
}

func (c *crowd) kin(owner string) bool {
	return owner != "" && slices.ContainsFunc(c.inside, func(p place) bool { return p.owner == owner })
}

// Whatever happens at a gate: who is inside can be so together, nobody overtakes
// but an owner that is inside and a newcomer that barges, and nobody waits for
// nothing.
func TestGateKeepsItsRulesInEveryMode(t *testing.T) {
	for seed := range uint64(400) {
		c := &crowd{t: t, rnd: rand.New(rand.NewPCG(seed, 0))}
		for range 150 {
			switch n := c.rnd.IntN(10); {
			case n < 5:
				c.arrives()
			case n < 8 && len(c.inside) > 0:
				c.goes()
			case n == 8 && len(c.waiting) > 0:
				c.givesUp()
			case n == 9 && len(c.inside) > 0:
				c.downgrades()
			}
			c.settles()
		}
		for len(c.inside) > 0 {
			c.goes()
			c.settles()
		}
		wantIdle(t)
	}
}
