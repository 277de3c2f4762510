package client

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	maxPipelines  = 2
	patience      = 100 * time.Millisecond // with the first pipeline, before there is a second
	renewBatch    = 1024
	minRenewBound = 20 * time.Millisecond
	calm          = time.Second            // without a failure, before renewals are said to work again
	maxRenewGap   = 250 * time.Millisecond // between tries of a renewal that fails
	minRenewGap   = 5 * time.Millisecond
)

// renewer sends the renewals that are due, as pipelines. It has no goroutine of its
// own: those of the pipelines under way do its work.
type renewer struct {
	client *Client

	mu      sync.Mutex
	queue   []*hold
	flying  int       // pipelines under way
	since   time.Time // when the last one was sent
	failing bool      // it was logged that renewals fail
	failed  time.Time // when the last one did
	work    tracker
}

func (r *renewer) enqueue(h *hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue, h)
}

// waiting tells whether there is more to send than what is under way.
func (r *renewer) waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) > 0
}

// flush sends what is queued, as far as pipelines are free.
func (r *renewer) flush() {
	for {
		batch, bound := r.take()
		if batch == nil {
			return
		}
		r.send(batch, bound)
	}
}

// take cuts a batch of leases of like urgency off the queue, and says for how long
// their pipeline may take: a third of what is left to the most urgent one, so that
// there is time for more than one try. It is nil when the queue is empty or no
// pipeline is free.
func (r *renewer) take() ([]*hold, time.Duration) {
	now := time.Now()
	left := func(h *hold) time.Duration {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.deadline.left(now)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 || r.flying == maxPipelines || r.flying > 0 && now.Sub(r.since) < patience {
		return nil, 0
	}
	r.flying++
	r.since = now
	r.work.add(1)
	type urgency struct {
		hold *hold
		left time.Duration
	}
	due := make([]urgency, len(r.queue))
	for i, h := range r.queue {
		due[i] = urgency{h, left(h)}
	}
	slices.SortFunc(due, func(a, b urgency) int { return cmp.Compare(a.left, b.left) })
	n := 1
	for n < len(due) && n < renewBatch && due[n].left <= 4*due[0].left {
		n++
	}
	batch := make([]*hold, n)
	for i := range batch {
		batch[i] = due[i].hold
	}
	r.queue = r.queue[:0]
	for _, u := range due[n:] {
		r.queue = append(r.queue, u.hold)
	}
	return batch, min(max(due[0].left/3, minRenewBound), r.client.commandTimeout)
}

func (r *renewer) send(holds []*hold, bound time.Duration) {
	c := r.client
	sent := time.Now()
	var work batch
	ttls := make([]time.Duration, len(holds))
	for i, h := range holds {
		ttls[i] = h.sending(sent, 0)
		work.add(c.store.extendEvals(h.id, ttls[i]))
	}
	c.pipeline(opRenew, bound, work.evals, func(replies []reply) {
		defer r.work.add(-1)
		var failed error
		for i, h := range holds {
			s, err := work.standing(replies, i)
			if err != nil {
				failed = err
				h.renewalFailed(sent, err)
				continue
			}
			h.answered(sent, ttls[i], s, false)
		}
		r.note(failed, len(holds))
		r.mu.Lock()
		r.flying--
		r.mu.Unlock()
		r.flush()
	}, func(replies []reply) {
		for i, h := range holds {
			if s, err := work.standing(replies, i); err == nil {
				h.answered(sent, ttls[i], s, false)
			}
		}
	})
}

// note logs when renewals begin to fail, and when they work again: once none has
// failed for a while, since pipelines end in any order.
func (r *renewer) note(failed error, n int) {
	now := time.Now()
	r.mu.Lock()
	begins := failed != nil && !r.failing
	ends := failed == nil && r.failing && now.Sub(r.failed) >= calm
	if failed != nil {
		r.failed = now
	}
	r.failing = begins || r.failing && !ends
	r.mu.Unlock()
	switch {
	case begins:
		r.client.logger.Warn("holdfast: renewals fail; they are repeated, and each lease ends at its deadline unless one succeeds",
			"leases", n, "error", failed)
	case ends:
		r.client.logger.Info("holdfast: renewals work again")
	}
}

// renewalFailed has a renewal repeated soon: the sooner the less is left.
func (h *hold) renewalFailed(sent time.Time, err error) {
	now := time.Now()
	h.mu.Lock()
	h.renewErr = err
	gap := min(max(h.deadline.left(now)/4, minRenewGap), maxRenewGap)
	live := h.phase == phaseLive
	h.mu.Unlock()
	if !live {
		return
	}
	h.client.scheduler.reschedule(h, now.Add(jittered(gap)))
	h.client.dispatcher.post(h, Event{Kind: EventRenewalFailed, At: now, Duration: now.Sub(sent), Err: err})
}

// jittered returns between a half and the whole of d.
func jittered(d time.Duration) time.Duration {
	return d - rand.N(d/2+1)
}
