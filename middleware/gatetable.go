package middleware

import (
	"context"
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

// enter takes req in, at once or after waiting for its turn. The error is that of
// one who did not get in.
func (t *gateTable) enter(ctx context.Context, req client.Request) (*gate, error) {
	g, w, refused := t.arrive(req)
	switch {
	case refused != nil && ctx.Err() != nil:
		return nil, client.WaitEnded(ctx, req, refused)
	case refused != nil:
		return nil, refused
	case w == nil:
		return g, nil
	}
	select {
	case <-w.in:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return nil, client.WaitEnded(ctx, req, t.giveUp(g, w, req))
	}
	return g, nil
}

// arrive takes req in if it may, else lets it queue or, where it does not wait,
// refuses it.
func (t *gateTable) arrive(req client.Request) (g *gate, w *waiter, refused error) {
	name := lockName{req.Scope(), req.Key}
	t.mu.Lock()
	defer t.mu.Unlock()
	g = t.open[name]
	switch {
	case g == nil:
		g = &gate{name: name, owner: req.Owner, inside: 1}
		t.open[name] = g
	case g.admits(req.Owner):
		g.inside++
	case req.Wait:
		w = &waiter{owner: req.Owner, in: make(chan struct{})}
		g.queue.push(w)
	default:
		return nil, nil, g.refusal(req)
	}
	return g, w, nil
}

// giveUp takes a waiter out whose ctx has ended, and says what kept it waiting.
// One that was let in at that very moment passes its place on.
func (t *gateTable) giveUp(g *gate, w *waiter, req client.Request) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := g.refusal(req)
	select {
	case <-w.in:
		t.out(g)
	default:
		g.queue.remove(w)
	}
	return last
}

// leave takes one out who came back from Redis with err and no lease; nil is a
// panic.
func (t *gateTable) leave(g *gate, err error) {
	failure, learnt := lesson(err)
	t.mu.Lock()
	defer t.mu.Unlock()
	if learnt {
		g.failure = failure
	}
	t.out(g)
}

// keep notes that one of those inside has got a lease.
func (t *gateTable) keep(g *gate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g.leases++
	g.failure = nil
}

// free takes out one whose lease has ended.
func (t *gateTable) free(g *gate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g.leases--
	t.out(g)
}

// out takes one out of g, and the last one lets the next ones in. Its caller holds
// t.mu.
func (t *gateTable) out(g *gate) {
	g.inside--
	if g.inside > 0 {
		return
	}
	if !g.admitNext() {
		delete(t.open, g.name)
	}
}
