package client

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	maxRemovals     = 8192 // beyond them a token is left to its TTL
	removalBatch    = 256
	firstRemovalGap = 10 * time.Millisecond
	maxRemovalGap   = time.Second
)

// removal takes a token out of Redis: of a lease whose release was not answered,
// or of an acquire that ended without a lease and may yet have been granted.
type removal struct {
	key        string
	id         leaseID
	minHold    time.Duration
	tombstone  time.Duration
	until      time.Time // the key must be gone by itself then
	unanswered bool      // an earlier try was sent and not answered
	last       error     // how the last try failed
	done       chan error
}

// result is what a reply to the removal means to the one who released.
func (r *removal) result(s standing) error {
	switch {
	case s == standingOurs, s == standingResting:
		return nil
	case r.unanswered:
		return nil // it was the earlier try, sent before the deadline, that did it
	case s == standingTaken:
		return fmt.Errorf("%w: %w", ErrNotHeld, errTaken)
	}
	return fmt.Errorf("%w: its key is gone from Redis: expired, deleted or evicted", ErrNotHeld)
}

// janitor repeats removals until each is answered or pointless. Its goroutine
// lives while there are any.
type janitor struct {
	client *Client

	mu      sync.Mutex
	queue   []*removal
	batch   []*removal // under way, or the last one
	running bool
	stopped bool
	full    bool
	work    tracker
}

func (j *janitor) add(r *removal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stopped || len(j.queue) >= maxRemovals {
		if !j.full {
			j.full = true
			j.client.logger.Warn("holdfast: too much to clean up, or closed: tokens are left to their TTL",
				"key", r.key, "pending", len(j.queue))
		}
		r.done <- fmt.Errorf("%w: left to its TTL", ErrUnavailable)
		return
	}
	j.full = false
	j.queue = append(j.queue, r)
	if !j.running {
		j.running = true
		j.work.add(1)
		go j.run()
	}
}

func (j *janitor) run() {
	defer j.work.add(-1)
	gap := firstRemovalGap
	for {
		batch := j.take()
		if batch == nil {
			return
		}
		if again := j.try(batch); len(again) > 0 {
			j.mu.Lock()
			j.queue = append(again, j.queue...)
			j.mu.Unlock()
			if !j.client.pause(jittered(gap)) {
				j.drop()
				return
			}
			gap = min(2*gap, maxRemovalGap)
			continue
		}
		gap = firstRemovalGap
	}
}

// take cuts a batch off the queue; nil, and the end of the goroutine, when it is
// empty.
func (j *janitor) take() []*removal {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := min(len(j.queue), removalBatch)
	if n == 0 {
		j.running, j.queue, j.batch = false, nil, nil
		return nil
	}
	j.batch = j.queue[:n:n]
	j.queue = j.queue[n:]
	return j.batch
}

// removes tells whether token is being taken out.
func (j *janitor) removes(token string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	its := func(r *removal) bool { return r.id.token == token }
	return slices.ContainsFunc(j.batch, its) || slices.ContainsFunc(j.queue, its)
}

// drop gives up what is left when the Client stops.
func (j *janitor) drop() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.queue {
		r.done <- fmt.Errorf("%w; the client was closed, and the key is left to its TTL", r.last)
	}
	j.queue, j.running, j.stopped = nil, false, true
}

// try sends a batch and returns those that have to be sent again.
func (j *janitor) try(due []*removal) []*removal {
	c := j.client
	now := time.Now()
	var live []*removal
	var work batch
	for _, r := range due {
		if now.After(r.until) {
			r.done <- fmt.Errorf("%w; its TTL has passed meanwhile", r.last)
			continue
		}
		live = append(live, r)
		work.add(c.store.releaseEvals(r.id, r.minHold, r.tombstone))
	}
	if len(live) == 0 {
		return nil
	}
	var again []*removal
	got := make(chan []reply, 1)
	c.pipeline(opCleanup, c.commandTimeout, work.evals, func(replies []reply) { got <- replies }, nil)
	replies := <-got
	for i, r := range live {
		s, err := work.standing(replies, i)
		switch {
		case err == nil:
			r.done <- r.result(s)
		case errors.Is(err, ErrRefused):
			r.done <- err
		default:
			r.unanswered, r.last = true, err
			again = append(again, r)
		}
	}
	return again
}
