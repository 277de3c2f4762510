package client

import (
	"fmt"
	"strconv"
	"time"
)

const modelOld = 3500 // ms: all that is older is alike

func ms(d time.Duration) int16 { return int16(d / time.Millisecond) }

func (m *model) ago(ms int16) time.Time { return m.base.Add(-time.Duration(ms) * time.Millisecond) }

// waiter runs fn on the real waiter, made to be that of a.
func (m *model) waiter(a *modelActor, i uint8, fn func(*waiters, *waiter)) {
	w := m.waiters[i]
	if w.lock = ""; a.located {
		w.lock = modelLock
	}
	w.queued, w.sent, w.ticket, w.source = a.queued, m.ago(-a.sent), modelTicket(a.ticket), WakeNone
	w.fence, w.granted = modelFence(a.fence), modelFence(a.granted)
	if a.woken {
		w.wake()
	}
	fn(m.c.waiters, w)
	select {
	case <-w.woken:
		a.woken = true
	default:
		a.woken = false
	}
	a.located, a.queued, a.sent, a.ticket = w.lock != "", w.queued, max(ms(w.sent.Sub(m.base)), -modelOld), ticketNumber(w.ticket)
	a.fence, a.granted = fenceNumber(w.fence), fenceNumber(w.granted)
}

// act takes a step that begins something.
func (m *model) act(w *modelWorld, a *modelActor, s modelStep) bool {
	switch s.kind {
	case stepAttempt:
		return m.attempt(w, a, s.actor)
	case stepDeliver, stepLose:
		fence := a.letters[0]
		if fence == 0 {
			return false
		}
		a.letters = [3]uint16{a.letters[1], a.letters[2]}
		if s.kind == stepDeliver {
			m.waiter(a, s.actor, func(q *waiters, w *waiter) { q.deliver(fmt.Sprintf("%s %d h", w.id, modelFence(fence))) })
		}
	case stepPoll:
		if !a.pollDue() {
			return false
		}
		a.side = flight{modelCmd: modelCmd{kind: cmdPoll, actor: s.actor}}
	case stepExtend:
		if a.phase != actorHolding || a.extended || a.side.kind != cmdNone || m.contenders[s.actor].extend == 0 {
			return false
		}
		a.side, a.extended = flight{modelCmd: modelCmd{kind: cmdExtend, actor: s.actor}}, true
	case stepRelease:
		if a.phase != actorHolding {
			return false
		}
		m.release(a, s.actor)
	}
	return true
}

// attempt is Client.attempt up to the send. Of equal contenders the first begins first.
func (m *model) attempt(w *modelWorld, a *modelActor, i uint8) bool {
	switch a.phase {
	case actorIdle:
		if int(i) >= len(m.contenders) || i > 0 && m.contenders[i-1] == m.contenders[i] && w.actors[i-1].phase == actorIdle {
			return false
		}
	case actorWaiting:
		if !a.woken {
			return false
		}
		a.woken = false
	case actorPausing:
	default:
		return false
	}
	var g grant
	var handed bool
	m.waiter(a, i, func(_ *waiters, w *waiter) { g, handed = m.c.handed(w, m.reqs[i], m.base) })
	if !handed {
		a.phase, a.call = actorAsking, flight{modelCmd: modelCmd{kind: cmdAsk, actor: i, ticket: a.ticket}}
		return true
	}
	m.hold(w, a, deadlineAt(g.sent, g.ttl))
	if h, ok := m.views[w.db].holder(i); !ok || h.fence != fenceNumber(g.fence) {
		m.failf("%c took a hand-off that is over", 'A'+i)
	} else if a.left < ms(reservation*9/20) {
		m.failf("%c has a lease that ends after %d ms", 'A'+i, a.left)
	}
	return true
}

// readCall is Client.attempt from the reply on, or the end of a release.
func (m *model) readCall(w *modelWorld, a *modelActor, i uint8) bool {
	f := a.call
	if !f.ran {
		return false
	}
	a.call = flight{}
	sent, ttl := m.ago(f.age), m.reqs[i].TTL
	switch {
	case f.kind == cmdRelease:
		a.end(false)
	case f.reply.code < 0:
		m.failf("the token of a call that goes on was withdrawn")
	case f.reply.code == 0:
		r := acquireResult{fence: modelFence(f.reply.fence), ticket: modelTicket(f.reply.ticket), held: &HeldError{}}
		m.waiter(a, i, func(q *waiters, w *waiter) { q.stands(w, sent, 0, r) })
		a.phase, a.beat = actorWaiting, 0
	case deadlineAt(sent, ttl).passed(m.base):
		a.phase, a.unknown = actorPausing, true
	default:
		m.hold(w, a, deadlineAt(sent, ttl))
	}
	return true
}

// readSide takes the reply to a poll, or to an extend.
func (m *model) readSide(a *modelActor, i uint8) bool {
	f := a.side
	if !f.ran {
		return false
	}
	a.side = flight{}
	switch {
	case f.kind == cmdPoll && a.phase.waits():
		list := []any{int64(f.reply.code)}
		if f.reply.code == 0 {
			list = append(list, int64(0), int64(1), strconv.FormatUint(modelFence(f.reply.fence), 10), nil)
		}
		m.waiter(a, i, func(q *waiters, w *waiter) { q.note(w, m.ago(f.age), list) })
		a.beat = 0
	case f.kind == cmdExtend && a.phase == actorHolding && f.reply.code == 1:
		d := deadlineAt(m.ago(f.age), m.contenders[i].extend)
		a.left = max(a.left, ms(d.left(m.base)))
	case f.kind == cmdExtend && a.phase == actorHolding:
		m.failf("%c extends a lease that it has, and it is gone", 'A'+i)
	}
	return true
}

func (m *model) hold(w *modelWorld, a *modelActor, d deadline) {
	m.stopWaiting(w, a)
	a.phase, a.left = actorHolding, ms(d.left(m.base))
}

// release ends a lease, or a wait: in the process first.
func (m *model) release(a *modelActor, i uint8) {
	a.phase, a.left = actorLeaving, 0
	a.call = flight{modelCmd: modelCmd{kind: cmdRelease, actor: i, tombstone: a.unknown}}
}

// giveUp leaves f without an answer.
func (m *model) giveUp(w *modelWorld, a *modelActor, i uint8, f *flight) bool {
	if !a.abandon(f) {
		return false
	}
	w.trouble.unanswered--
	a.tardy = true
	switch {
	case f == &a.call && a.phase == actorLeaving:
		m.release(a, i)
	case f == &a.call:
		a.phase = actorPausing
	case a.phase.waits():
		m.waiter(a, i, func(q *waiters, w *waiter) { q.note(w, m.base, nil) })
	}
	return true
}

// abandon leaves f to itself, if the model has room for that.
func (a *modelActor) abandon(f *flight) bool {
	if f.kind != cmdNone && !f.ran {
		if a.stray.kind != cmdNone {
			return false
		}
		a.stray = flight{modelCmd: f.modelCmd}
	}
	a.unknown = a.unknown || f.kind == cmdAsk
	*f = flight{}
	return true
}

// stopWaiting forgets what matters to those who wait alone.
func (m *model) stopWaiting(w *modelWorld, a *modelActor) {
	for i := range w.actors {
		if o := &w.actors[i]; a.order > 0 && o.order > a.order {
			o.order--
		}
	}
	a.queued, a.woken, a.located, a.order, a.sent, a.ticket, a.beat = false, false, false, 0, 0, 0, 0
	a.fence, a.granted, a.letters = 0, 0, [3]uint16{}
}

func (a *modelActor) end(unknown bool) {
	*a = modelActor{phase: actorDone, unknown: unknown, side: a.side, stray: a.stray}
	if a.side.age = 0; a.side.ran {
		a.side = flight{}
	}
}

func (a *modelActor) pollDue() bool {
	return a.phase.waits() && a.queued && a.side.kind == cmdNone && a.beat+ms(modelTick) > ms(pollCap)
}

// due tells whether a has something to do before time passes.
func (a *modelActor) due() bool {
	late := func(f *flight) bool { return f.kind != cmdNone && f.age+ms(modelTick) > ms(modelBound) }
	return late(&a.call) || late(&a.side) || a.phase == actorPausing || a.phase == actorWaiting && a.woken ||
		a.pollDue() || a.phase == actorHolding && a.left <= ms(modelTick)
}

// age makes a older by a tick.
func (a *modelActor) age(rename func(int16) int16) {
	a.left = max(a.left-ms(modelTick), 0)
	a.ticket, a.stray.ticket = rename(a.ticket), rename(a.stray.ticket)
	a.call.ticket, a.call.reply.ticket = rename(a.call.ticket), rename(a.call.reply.ticket)
	for _, f := range []*flight{&a.call, &a.side} {
		if f.kind != cmdNone && a.phase != actorDone {
			f.age = min(f.age+ms(modelTick), modelOld)
		}
	}
	if a.phase.waits() {
		a.sent, a.beat = max(a.sent-ms(modelTick), -modelOld), min(a.beat+ms(modelTick), ms(pollCap))
	}
}
