package middleware

import "github.com/holdfast-go/holdfast/client"

// waiter is one who waits at a gate; in is closed when it is let in.
type waiter struct {
	ask
	in         chan struct{}
	held       bool // by then: those before it had the lock, or left it to others
	call       *client.Call
	tenure     *client.Tenure // that was left to it when it was let in, if any
	first      *client.Call   // who had the lock when it came, if anybody of this process
	last       *client.Call   // who had it last, until it was let in or left
	after      *client.Call   // who left without the lock when it was let in, if anybody
	prev, next *waiter
}

// met has the call of w remember the first and the last for whom it waited here.
func (w *waiter) met() {
	if w.call == nil {
		return
	}
	if w.first != nil && w.first != w.last {
		w.call.Blocked(heldBy(w.first))
	}
	if w.last != nil {
		w.call.Blocked(heldBy(w.last))
	}
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
