package client

import (
	"strconv"
	"time"
)

const (
	// reservation is the first TTL of a lease that was handed over, whatever its own
	// is: time for the message, or for a poll where that is lost, and for a command.
	reservation = 3 * time.Second
	// pollCap is the longest a waiter goes without a look, and without a beat: a third
	// of the time after which the queue takes it for dead.
	pollCap = time.Second
	// minPoll is the shortest pause before a poll.
	minPoll = 10 * time.Millisecond
)

// WakeSource says what ended a wait in the queue.
type WakeSource string

// The ways in which one who waited gets the lock.
const (
	WakeNone    WakeSource = ""        // it did not wait in the queue, or asked again itself
	WakeHandOff WakeSource = "handoff" // a holder released, and its script handed over
	WakeExpiry  WakeSource = "expiry"  // the holder's time had passed, and a waiter noticed
	WakePoll    WakeSource = "poll"    // the message was lost, and the waiter's poll found the grant
	WakeLocal   WakeSource = "local"   // a holder of the same process released, and left the lock to it
)

// waiter is a call's place in the queue of its lock in Redis. Its fields, but for
// the first four, belong to the mutex of waiters.
type waiter struct {
	call  *Call
	id    string // by which messages name it
	lease leaseID
	woken chan struct{} // has room for one

	queued bool      // it is in the queue, as far as is known
	lock   string    // which of the lease's locks it waits for
	rearm  time.Time // when it has to ask again, for the locks that it has meanwhile; zero for none
	sent   time.Time // before the last command was sent that said so, or the first of all
	fence  uint64    // the last one, then
	ticket string
	holder uint64 // fence of the holder that it knows of
	due    time.Time
	early  uint // polls in a row that came before pollCap

	granted uint64 // fence of a hand-off to it; 0 for none
	source  WakeSource
}

// place is the ticket with which to enter the queue. Of several locks each has its own
// queue, and its own tickets.
func (w *waiter) place() string {
	if w.ticket == "" || len(w.lease.locks) > 1 {
		return "0"
	}
	return w.ticket
}

func (w *waiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// stands notes a reply that says that w waits: sent at the instant sent, with the
// last fence and the time that is left to the holder.
func (w *waiter) stands(sent time.Time, fence uint64, left time.Duration) {
	w.queued, w.sent = true, sent
	if w.fence = max(w.fence, fence); w.granted <= w.fence {
		w.granted = 0 // that hand-off came before the command, and is over
	}
	now := time.Now()
	gap := jittered(pollCap / 5)
	gap += pollCap * 4 / 5
	if expiry := left + time.Millisecond + jittered(4*minPoll); left > 0 && expiry < gap {
		gap = min(gap, max(expiry, minPoll<<w.early))
		w.early = min(w.early+1, 6)
	} else {
		w.early = 0
	}
	w.due = now.Add(gap)
}

// handOff is a grant that reached its waiter by a message.
type handOff struct {
	fence uint64
	since time.Time // no later than the grant
}

// Woken returns a channel that gets a value when the lock has been handed to the
// call, or when there is another reason to try again. It is nil unless the call
// waits in the queue of the lock in Redis: see Request.Enqueue.
func (c *Call) Woken() <-chan struct{} {
	c.mu.Lock()
	w := c.waiter
	c.mu.Unlock()
	if w == nil || !c.client.waiters.standing(w) {
		return nil
	}
	return w.woken
}

// Position returns the place at which the call first entered the queue of the lock
// in Redis, from 1; 0 where it did not queue.
func (c *Call) Position() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.position
}

// WakeSource returns what gave the lock to the call, if it waited in the queue.
func (c *Call) WakeSource() WakeSource {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wake
}

// enqueue returns the call's waiter, made when it is asked for first.
func (c *Call) enqueue(id leaseID, sent time.Time) *waiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiter == nil {
		c.waiter = &waiter{call: c, lease: id, woken: make(chan struct{}, 1), sent: sent, ticket: c.ticket,
			id: strconv.FormatUint(c.client.waiters.ids.Add(1), 36)}
		c.client.waiters.add(c.waiter)
	}
	return c.waiter
}

// queued notes that the call waits.
func (c *Call) queued(r acquireResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.position == 0 {
		c.position = r.held.Position
	}
	c.engaged, c.ticket = true, r.ticket
}

// TakePlace has the call enter the queue at the place of another one, which has
// left it: for a layer that lets one contender in after the other.
func (c *Call) TakePlace(of *Call) {
	of.mu.Lock()
	ticket := of.ticket
	of.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ticket == "" {
		c.ticket = ticket
	}
}
