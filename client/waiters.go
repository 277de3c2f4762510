package client

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const pollCompany = 2 * pollCap / 5 // by how much a poll may come early, for company

// waiters are the waiters of a Client. One goroutine, which lives while any is in a
// queue, polls for all of them: that is their beat, and finds what no message told.
type waiters struct {
	client       *Client
	subscription subscription
	ids          atomic.Uint64

	mu      sync.Mutex
	byID    map[string]*waiter
	queued  int // of them in a queue
	wakeAt  time.Time
	wake    chan struct{}
	running bool
	work    tracker
}

func newWaiters(c *Client) *waiters {
	q := &waiters{client: c, byID: make(map[string]*waiter), wake: make(chan struct{}, 1)}
	q.subscription.client = c
	return q
}

func (q *waiters) add(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.byID[w.id] = w
}

// standing tells whether w is in the queue, or has been handed the lock.
func (q *waiters) standing(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return w.queued || w.granted != 0
}

// stands notes that w is in the queue, by the reply to an acquire. rearm is how soon it
// has to ask again where it has some of several locks.
func (q *waiters) stands(w *waiter, sent time.Time, rearm time.Duration, r acquireResult) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byID[w.id] != w {
		return
	}
	was := w.queued
	if lock := w.lease.locks[r.which]; lock != w.lock {
		if w.lock != "" { // what is known is of that one
			w.fence, w.granted = 0, 0
		}
		w.lock = lock
	}
	w.stands(sent, r.fence, r.held.TTL)
	w.ticket, w.holder, w.rearm = r.ticket, r.holder, time.Time{}
	if r.which > 0 {
		w.rearm = sent.Add(rearm)
	}
	if !was {
		q.count(1)
	}
	q.arm(w.due)
	if !w.rearm.IsZero() {
		q.arm(w.rearm)
	}
	if w.granted != 0 {
		w.wake() // the message was faster than the reply
	}
}

// count keeps the number of those who queue. Its caller holds q.mu.
func (q *waiters) count(n int) {
	q.queued += n
	q.subscription.need(q.queued > 0)
}

// arm sees to it that the goroutine runs and looks at the instant at. Its caller
// holds q.mu.
func (q *waiters) arm(at time.Time) {
	if !q.running {
		q.running, q.wakeAt = true, at
		q.work.add(1)
		go q.run()
		return
	}
	if at.Before(q.wakeAt) {
		q.wakeAt = at
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
}

// leave ends the wait of w, and returns what woke it.
func (q *waiters) leave(w *waiter) WakeSource {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.byID, w.id)
	if w.queued {
		w.queued = false
		q.count(-1)
	}
	return w.source
}

// deliver takes a message: "<id> <fence> <how>".
func (q *waiters) deliver(text string) {
	id, rest, _ := strings.Cut(text, " ")
	number, how, _ := strings.Cut(rest, " ")
	fence, err := strconv.ParseUint(number, 10, 53)
	if err != nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.byID[id]
	if w == nil || fence <= w.fence {
		return
	}
	w.granted, w.source = fence, WakeHandOff
	if how == "e" {
		w.source = WakeExpiry
	}
	w.wake()
}

// handed returns the hand-off to w that a message told of, once: whoever does not
// take it asks by the script, which tells of it as well.
func (q *waiters) handed(w *waiter) (handOff, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := handOff{w.granted, w.sent}
	w.granted = 0
	return h, h.fence != 0
}

// pollAll has all waiters polled at once.
func (q *waiters) pollAll() {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.byID {
		w.due = now
	}
	if q.queued > 0 {
		q.arm(now)
	}
}

func (q *waiters) run() {
	defer q.work.add(-1)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		batch, wait, more := q.collect(time.Now())
		if !more {
			return
		}
		if len(batch) > 0 {
			q.poll(batch)
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-q.wake:
		case <-q.client.stopped:
			q.mu.Lock()
			q.running = false
			q.mu.Unlock()
			return
		}
	}
}

// collect returns the waiters that are due, with those who soon will be, and else
// for how long to wait, or that there is none.
func (q *waiters) collect(now time.Time) (batch []*waiter, wait time.Duration, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queued == 0 {
		q.running = false
		return nil, 0, false
	}
	next := now.Add(pollCap)
	for _, w := range q.byID {
		if !w.rearm.IsZero() && !w.rearm.After(now) {
			w.rearm = time.Time{}
			w.wake()
		}
		if w.queued && w.due.Before(next) {
			next = w.due
		}
		if !w.rearm.IsZero() && w.rearm.Before(next) {
			next = w.rearm
		}
	}
	q.wakeAt = next
	if next.After(now) {
		return nil, next.Sub(now), true
	}
	for _, w := range q.byID {
		if w.queued && w.due.Sub(now) <= pollCompany {
			batch = append(batch, w)
		}
	}
	return batch, 0, true
}
