package client

import (
	"strconv"
	"time"
)

const pollBatch = 512 // waiters in one poll

// poll asks for all of batch, and waits for the answer.
func (q *waiters) poll(batch []*waiter) {
	c := q.client
	size := 1 // of what must share a slot
	if c.store.oneServer() {
		size = pollBatch
	}
	var evals []eval
	var parts [][]*waiter
	for part := batch; len(part) > 0; {
		n := min(size, len(part))
		evals, parts = append(evals, q.pollEval(part[:n])), append(parts, part[:n])
		part = part[n:]
	}
	sent := time.Now()
	got := make(chan []reply, 1)
	c.pipeline(opPoll, c.commandTimeout, evals, func(replies []reply) { got <- replies }, nil)
	for i, r := range <-got {
		list, _ := r.value.([]any)
		for j, w := range parts[i] {
			var one []any
			if j < len(list) {
				one, _ = list[j].([]any)
			}
			q.answered(w, sent, one)
		}
	}
}

func (q *waiters) pollEval(batch []*waiter) eval {
	e := eval{script: pollScript, keys: make([]string, 0, keysPerLock*len(batch)), args: make([]any, 0, 2*len(batch))}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range batch {
		e.keys = lockKeys(e.keys, w.lock)
		e.args = append(e.args, w.lease.token, w.holder)
	}
	return e
}

// answered takes the reply of a poll to w; none where the poll failed, which its
// call then learns by asking itself.
func (q *waiters) answered(w *waiter, sent time.Time, reply []any) {
	if held := q.note(w, sent, reply); held != nil {
		w.call.Blocked(held)
	}
}

func (q *waiters) note(w *waiter, sent time.Time, reply []any) *HeldError {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byID[w.id] != w {
		return nil
	}
	code := int64(-1)
	if len(reply) > 0 {
		code, _ = reply[0].(int64)
	}
	switch {
	case code == 0 && len(reply) == 5:
		left, _ := reply[1].(int64)
		last, _ := reply[3].(string)
		fence, _ := strconv.ParseUint(last, 10, 53)
		w.stands(sent, fence, time.Duration(left)*time.Millisecond)
		text, changed := reply[4].(string)
		if !changed {
			return nil
		}
		held := heldError(text, time.Duration(left)*time.Millisecond)
		rec, _ := parseRecord(text)
		w.holder, w.early = rec.fence, 0
		place, _ := reply[2].(int64)
		held.Position = int(place)
		return held
	case code == 1 && w.source == WakeNone:
		w.source = WakePoll
	case code == 2 && w.queued:
		w.queued = false
		q.count(-1)
	}
	w.due = time.Now().Add(pollCap)
	w.wake()
	return nil
}
