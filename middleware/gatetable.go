package middleware

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-go/holdfast/client"
)

// gates are the gates of this process: those that somebody is inside of.
var gates = gateTable{open: make(map[lockName]*gate)}

// gateTable has one mutex for the table and its gates. It is held for a few
// steps at a time: never while somebody waits, and never around code of others.
type gateTable struct {
	mu   sync.Mutex
	open map[lockName]*gate
}

type lockName struct{ scope, key string }

// enter takes req into the gate of key, at once or after waiting for its turn. The
// error is that of one who did not get in.
func (t *gateTable) enter(ctx context.Context, req client.Request, key string) (place, error) {
	p, w, refused := t.arrive(req, key)
	switch {
	case refused != nil && ctx.Err() != nil:
		return place{}, client.WaitEnded(ctx, req, refused)
	case refused != nil:
		return place{}, refused
	case w == nil:
		return p, nil
	}
	select {
	case <-w.in:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		last := t.giveUp(p, w, req)
		w.met()
		return place{}, client.WaitEnded(ctx, req, last)
	}
	w.met()
	if call := req.Call(); call != nil {
		if w.held {
			call.Waited()
		}
		if w.tenure != nil {
			call.Inherit(w.tenure)
		} else if w.after != nil {
			call.TakePlace(w.after)
		}
	}
	return p, nil
}

// arrive takes req in if it may, else lets it queue for its place or, where it does
// not wait, refuses it.
func (t *gateTable) arrive(req client.Request, key string) (p place, w *waiter, refused error) {
	name, a := lockName{req.Scope(), key}, asked(req)
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.open[name]
	if g == nil {
		g = &gate{name: name}
		t.open[name] = g
	}
	p = place{g, a.kind, a.owner}
	switch {
	case g.admits(a):
		g.letIn(a)
		g.advance() // others of its owner, where it barged
	case g.clash(a) != nil:
		return place{}, nil, &client.Error{Op: "acquire", Key: req.Key, Err: g.clash(a)}
	case req.Wait:
		w = &waiter{ask: a, call: req.Call(), in: make(chan struct{}), first: g.holder}
		g.queue.push(w)
	default:
		refused = g.refusal(req)
		var held *client.HeldError
		if call := req.Call(); call != nil && errors.As(refused, &held) {
			call.Blocked(held)
		}
		return place{}, nil, refused
	}
	return p, w, nil
}

// giveUp takes a waiter out whose ctx has ended, and says what kept it waiting.
// One that was let in at that very moment passes its place on, and one that only
// waited no longer keeps those behind it.
func (t *gateTable) giveUp(p place, w *waiter, req client.Request) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := p.gate.refusal(req)
	select {
	case <-w.in:
		if w.tenure != nil {
			w.tenure.GiveBack()
		}
		t.out(p)
	default:
		w.last = p.gate.holder
		p.gate.queue.remove(w)
		p.gate.advance()
	}
	return last
}

// leave takes one out who came back from Redis with err and no lease; nil is a
// panic. Who is let in for it gets its place in the queue in Redis.
func (t *gateTable) leave(p place, call *client.Call, err error) {
	failure, learnt := lesson(err)
	t.mu.Lock()
	defer t.mu.Unlock()
	if learnt {
		p.gate.failure = failure
	}
	p.gate.leaving = call
	t.out(p)
	p.gate.leaving = nil
}

// keep notes that one of those inside has got a lease.
func (t *gateTable) keep(p place, call *client.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.gate.leases++
	p.gate.holder = call
	p.gate.failure = nil
}

// downgrade notes that a lease has become a shared one.
func (t *gateTable) downgrade(p place) place {
	t.mu.Lock()
	defer t.mu.Unlock()
	return p.gate.downgrade(p)
}

// bequeath leaves the lock to who waits first, if it asks for just that. It comes in
// while the one whose lease ends is still inside.
func (t *gateTable) bequeath(p place, tenure *client.Tenure) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, w := p.gate, p.gate.queue.first
	if w == nil || w.call == nil || g.inside != 1 || !tenure.Fits(w.call) {
		return false
	}
	g.queue.remove(w)
	g.letIn(w.ask)
	w.held, w.tenure, w.last = true, tenure, g.holder
	close(w.in)
	return true
}

// free takes out one whose lease has ended.
func (t *gateTable) free(p place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.gate.leases--
	t.out(p)
	if p.gate.leases == 0 {
		p.gate.holder = nil
	}
}

// out takes one out, and forgets a gate with nobody inside: then nobody waits
// either. Its caller holds t.mu.
func (t *gateTable) out(p place) {
	p.gate.out(p)
	if p.gate.inside == 0 {
		delete(t.open, p.gate.name)
	}
}
