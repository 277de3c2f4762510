package redistest

import (
	"strings"
	"time"
)

// faults is what a Proxy does to the traffic.
type faults struct {
	cut    bool
	refuse bool
	hold   func(Command) bool // nil: none is held
	delay  time.Duration
	drops  []drop
}

// drop is an order to lose replies.
type drop struct {
	left   int
	silent bool
	match  func(Command) bool
}

// Cut makes the proxy a black hole: nothing passes either way, no connection is
// closed, new ones are accepted and not served. What is sent meanwhile is kept, as
// TCP would repeat it, and goes on its way at Heal even if its sender has gone;
// Reset throws it away.
func (p *Proxy) Cut() { p.change(func() { p.faults.cut = true }) }

// Heal ends Cut.
func (p *Proxy) Heal() { p.change(func() { p.faults.cut = false }) }

// Refuse has the proxy close each new connection at once, until it is called with
// false. Those that exist go on; Reset ends them.
func (p *Proxy) Refuse(on bool) { p.change(func() { p.faults.refuse = on }) }

// Delay has each request and each reply arrive d later, in order, so that a round
// trip takes 2d more; 0 ends it. Whole batches are delayed, not one command after
// the other.
func (p *Proxy) Delay(d time.Duration) { p.change(func() { p.faults.delay = d }) }

// DropReplies loses the next n replies to commands that match all of match, by
// default those to runs of scripts (see Script). The command reaches the server;
// its reply does not come back, and the connection is closed instead. A NOSCRIPT
// reply is never dropped: no script ran. match must not call the Proxy.
func (p *Proxy) DropReplies(n int, match ...func(Command) bool) { p.drop(n, false, match) }

// DropRepliesSilently is DropReplies that leaves the connection open: the client
// waits for a reply that never comes. No later reply comes on that connection
// either, for it would be taken for the lost one.
func (p *Proxy) DropRepliesSilently(n int, match ...func(Command) bool) { p.drop(n, true, match) }

func (p *Proxy) drop(n int, silent bool, match []func(Command) bool) {
	if len(match) == 0 {
		match = append(match, Command.Script)
	}
	p.change(func() { p.faults.drops = append(p.faults.drops, drop{n, silent, all(match)}) })
}

// HoldReplies keeps back the replies to commands that match all of match, by
// default every reply, until ReleaseReplies; requests pass. On a connection a
// reply that is held holds those behind it. A later call replaces match.
func (p *Proxy) HoldReplies(match ...func(Command) bool) {
	p.change(func() { p.faults.hold = all(match) })
}

// ReleaseReplies lets the replies go that HoldReplies kept back.
func (p *Proxy) ReleaseReplies() { p.change(func() { p.faults.hold = nil }) }

// Reset resets all connections, with what is under way on them. New ones are
// served.
func (p *Proxy) Reset() { p.each((*conn).reset) }

func (p *Proxy) currentFaults() faults {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults
}

// allows tells whether a message may pass: a reply if command has a name.
func (f faults) allows(reply Command) bool {
	return !f.cut && (f.hold == nil || reply.Name == "" || !f.hold(reply))
}

func all(match []func(Command) bool) func(Command) bool {
	return func(c Command) bool {
		for _, m := range match {
			if !m(c) {
				return false
			}
		}
		return true
	}
}

// Named returns a predicate for commands of any of the names given, in any case.
func Named(names ...string) func(Command) bool {
	return func(c Command) bool {
		for _, n := range names {
			if strings.EqualFold(n, c.Name) {
				return true
			}
		}
		return false
	}
}

// lost tells whether the reply to c is to be dropped, and takes it off the order.
func (f *faults) lost(c Command) (lost, silent bool) {
	for i := range f.drops {
		d := &f.drops[i]
		if d.left > 0 && d.match(c) {
			d.left--
			return true, d.silent
		}
	}
	return false, false
}
