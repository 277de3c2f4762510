package middleware

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/client"
)

// gate is the gate of one lock while anybody is inside: a lone caller, or callers
// of one owner. Its fields belong to the table's mutex.
type gate struct {
	name    lockName
	owner   string // of those inside; empty for a lone caller
	inside  int    // those on their way to Redis, and those who hold a lease
	leases  int    // the latter
	failure error  // how Redis failed the last who came back from there, nil once it answered
	queue   queue
}

// admits tells whether one more may be inside, over those who wait: if it had to
// wait behind them its owner could wait for itself.
func (g *gate) admits(owner string) bool { return owner != "" && owner == g.owner }

// admitNext lets in whoever waits first, together with those of the same owner. It
// is false where nobody waits.
func (g *gate) admitNext() bool {
	first := g.queue.first
	if first == nil {
		return false
	}
	g.owner = first.owner
	g.letIn(first)
	for w := first.next; w != nil && g.owner != ""; w = w.next {
		if g.admits(w.owner) {
			g.letIn(w)
		}
	}
	return true
}

func (g *gate) letIn(w *waiter) {
	g.queue.remove(w)
	g.inside++
	close(w.in)
}

// refusal is what one outside is told of why it is not inside.
func (g *gate) refusal(req client.Request) error {
	if g.leases == 0 && g.failure != nil {
		var e *client.Error
		if errors.As(g.failure, &e) {
			return g.failure
		}
		return &client.Error{Op: "acquire", Key: req.Key, Err: g.failure}
	}
	return &client.Error{Op: "acquire", Key: req.Key, Err: &client.HeldError{Local: true}}
}

// errSilent is what the others learn from one whose context ended before Redis had
// answered; that context is not theirs.
var errSilent = fmt.Errorf("%w: the last caller of this process got no answer", client.ErrUnavailable)

// lesson is what the error of one who came back without a lease tells about Redis:
// that it failed, that it answered (nil), or nothing.
func lesson(err error) (failure error, learnt bool) {
	switch {
	case errors.Is(err, client.ErrNotAcquired), errors.Is(err, client.ErrRefused):
		return nil, true
	case !errors.Is(err, client.ErrUnavailable):
		return nil, false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return errSilent, true
	default:
		return err, true
	}
}

// waiter is one who waits; in is closed when it is let in.
type waiter struct {
	owner      string
	in         chan struct{}
	prev, next *waiter
}

// queue has those who wait, first come first.
type queue struct{ first, last *waiter }

func (q *queue) push(w *waiter) {
	w.prev = q.last
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
}

// remove takes w out. It leaves w.next, so that a walk may go on from there.
func (q *queue) remove(w *waiter) {
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
}
