package middleware

import "github.com/holdfast-go/holdfast/client"

// waiter is one who waits at a gate; in is closed when it is let in.
type waiter struct {
	ask
	in         chan struct{}
	held       bool // by then: those before it had the lock, or left it to others
	call       *client.Call
	tenure     *client.Tenure // that was left to it when it was let in, if any
	after      *client.Call   // who left without the lock when it was let in, if anybody
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
