package client

import (
	"container/heap"
	"sync"
	"time"
)

// clockCheck is how often, at least, the scheduler looks at the clocks while
// leases are held: the timers of a machine that slept are late by that sleep.
const clockCheck = time.Second

// maxEarly is by how much a renewal may come too early.
const maxEarly = 250 * time.Millisecond

// scheduler watches over all leases of a Client with one goroutine, which lives
// while there are any: their deadlines, their maximum holds, and when each is due
// for renewal. It never waits for Redis; see renewer.
type scheduler struct {
	client  *Client
	renewer renewer

	mu      sync.Mutex
	holds   holdHeap
	wakeAt  time.Time     // when the goroutine wakes by itself; zero: it does not run
	wake    chan struct{} // it has to look now
	drained chan struct{} // closed when the last hold goes; nil while nobody waits
	work    tracker
}

func newScheduler(c *Client) *scheduler {
	return &scheduler{client: c, renewer: renewer{client: c}, wake: make(chan struct{}, 1)}
}

// dueAt is when the scheduler has to look at h. Its caller holds s.mu.
func (s *scheduler) dueAt(h *hold) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.deadline.mono
	if h.phase == phaseLeaving {
		return h.renewAt // resting
	}
	if !h.maxHoldAt.IsZero() && h.maxHoldAt.Before(at) {
		at = h.maxHoldAt
	}
	if !h.noRenewal && !h.renewing && h.renewAt.Before(at) {
		at = h.renewAt
	}
	return at
}

func (s *scheduler) add(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(h)
}

func (s *scheduler) push(h *hold) {
	h.due = s.dueAt(h)
	heap.Push(&s.holds, h)
	s.arm(h.due)
}

// arm sees to it that the goroutine runs and looks at the instant at. Its caller
// holds s.mu.
func (s *scheduler) arm(at time.Time) {
	if s.wakeAt.IsZero() {
		s.wakeAt = at
		s.work.add(1)
		go s.run()
		return
	}
	if at.Before(s.wakeAt) {
		s.wakeAt = at
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

func (s *scheduler) remove(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.index < 0 {
		return
	}
	heap.Remove(&s.holds, h.index)
	if len(s.holds) == 0 && s.drained != nil {
		close(s.drained)
		s.drained = nil
	}
}

// reschedule ends a renewal: the next one is due at renewAt.
func (s *scheduler) reschedule(h *hold, renewAt time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.renewAt, h.renewing = renewAt, false
	if h.index < 0 {
		return
	}
	h.due = s.dueAt(h)
	heap.Fix(&s.holds, h.index)
	s.arm(h.due)
}

// rest keeps a degraded hold that was released early until its minimum has passed.
func (s *scheduler) rest(h *hold, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.renewAt = until
	s.push(h)
}

// all returns the holds that are live.
func (s *scheduler) all() []*hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*hold(nil), s.holds...)
}

// amend has the record tell of the lease that holds the lock now, where that is one of
// ours which followed another under its token.
func (s *scheduler) amend(rec *record) {
	for _, h := range s.all() {
		if h.id.token == rec.token && h.grants > 1 {
			rec.fence, rec.since = h.fence, h.granted
		}
	}
}

// empty returns a channel that is closed when no hold is left.
func (s *scheduler) empty() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drained == nil {
		s.drained = make(chan struct{})
	}
	drained := s.drained
	if len(s.holds) == 0 {
		close(s.drained)
		s.drained = nil
	}
	return drained
}

func (s *scheduler) run() {
	defer s.work.add(-1)
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := time.Now()
	for {
		now := time.Now()
		slept := now.Round(0).Sub(last.Round(0)) - now.Sub(last)
		last = now
		if slept > 50*time.Millisecond || slept < -50*time.Millisecond {
			for _, h := range s.all() {
				h.expire()
			}
		}
		due, wait, more := s.collect(now)
		for _, h := range due {
			s.attend(h, now)
		}
		s.renewer.flush()
		if !more {
			return
		}
		if s.renewer.waiting() {
			wait = min(wait, patience)
		}
		timer.Reset(min(wait, clockCheck))
		select {
		case <-timer.C:
		case <-s.wake:
		case <-s.client.stopped:
			s.mu.Lock()
			s.wakeAt = time.Time{}
			s.mu.Unlock()
			return
		}
	}
}

// collect returns the holds that are due and for how long to wait for the next
// one, or that there is none.
func (s *scheduler) collect(now time.Time) (due []*hold, wait time.Duration, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	renewals := false
	for len(s.holds) > 0 {
		h := s.holds[0]
		if h.due.After(now) && !(renewals && h.due.Equal(h.renewAt) && h.due.Sub(now) <= s.early(h) && s.renewable(h, now)) {
			break
		}
		due = append(due, h)
		if s.renewable(h, now) {
			renewals, h.renewing = true, true
			s.renewer.enqueue(h)
			h.due = s.dueAt(h)
		} else {
			h.due = now.Add(clockCheck) // attend ends it
			if at := s.dueAt(h); at.After(now) {
				h.due = at
			}
		}
		heap.Fix(&s.holds, 0)
	}
	if len(s.holds) == 0 {
		s.wakeAt = time.Time{}
		return due, 0, false
	}
	s.wakeAt = s.holds[0].due
	return due, s.wakeAt.Sub(now), true
}

// early is by how much h may be renewed too early, for company: where one lease is
// due the next ones go with it.
func (s *scheduler) early(h *hold) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return min(h.interval()/10, maxEarly)
}

// renewable tells whether h, which is due, is due for renewal and nothing else.
func (s *scheduler) renewable(h *hold, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.phase == phaseLive && !h.noRenewal && !h.renewing && !h.deadline.passed(now) &&
		(h.maxHoldAt.IsZero() || now.Before(h.maxHoldAt))
}

// attend ends a hold that is due for it.
func (s *scheduler) attend(h *hold, now time.Time) {
	h.mu.Lock()
	phase, over := h.phase, h.deadline.passed(now)
	tooLong := !h.maxHoldAt.IsZero() && !now.Before(h.maxHoldAt)
	h.mu.Unlock()
	switch {
	case phase == phaseLeaving:
		s.remove(h)
		h.finish(EndReleased, "", ErrReleased)
		s.client.dispatcher.deliver(h)
	case over:
		h.lose(now)
	case tooLong:
		h.end(EndMaxHold, "", &Error{Op: "hold", Key: h.key,
			Err: &LostError{Reason: EndMaxHold, Detail: "its maximum hold of " + h.maxHoldAt.Sub(h.granted).String() + " passed"}})
	}
}

// holdHeap orders holds by when they are due.
type holdHeap []*hold

func (q holdHeap) Len() int           { return len(q) }
func (q holdHeap) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q holdHeap) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *holdHeap) Push(x any) {
	h := x.(*hold)
	h.index = len(*q)
	*q = append(*q, h)
}

func (q *holdHeap) Pop() any {
	old := *q
	h := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	h.index = -1
	return h
}
