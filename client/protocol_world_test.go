package client

import (
	"fmt"
	"slices"
	"time"
)

const actors = 3

// contender is what one process wants: to have the lock once.
type contender struct {
	mode   Mode
	slots  int
	ttl    time.Duration
	extend time.Duration // the TTL of its one Extend; 0 for none
}

// modelWorld is a state of everything: Redis, which is a number, and the processes.
type modelWorld struct {
	db      int32
	turn    uint8 // 1 + who has to go on first; 0 for anybody
	actors  [actors]modelActor
	trouble modelTrouble
}

// modelTrouble is how often what may yet happen.
type modelTrouble struct{ freezes, leaves, unanswered, slow uint8 }

type actorPhase uint8

const (
	actorIdle    actorPhase = iota
	actorAsking             // an acquire is under way
	actorPausing            // one was not answered
	actorWaiting            // in the queue
	actorHolding
	actorLeaving // a release is under way
	actorDone
)

func (p actorPhase) waits() bool { return p >= actorAsking && p <= actorWaiting }

// modelActor is a process. Times are in ms; the past is below 0.
type modelActor struct {
	phase   actorPhase
	frozen  bool  // does nothing: for ever, if it crashed
	tardy   bool  // did not always keep its beat, or get its answers
	unknown bool  // an acquire was not answered
	order   uint8 // of those who wait, by when they entered the queue; 0 for not yet

	call  flight // acquire or release
	side  flight // poll or extend
	stray flight // what nobody waits for any more

	queued, woken, located bool // as its waiter has it; located: it knows for which lock it waits
	sent, ticket           int16
	fence, granted         uint16
	beat                   int16     // since it last heard that it waits
	letters                [3]uint16 // the fences of messages on their way

	left     int16 // until the deadline of its lease
	extended bool
}

// flight is a command under way.
type flight struct {
	modelCmd
	ran, slow bool // slow: others go on before it runs, or before its reply is read
	reply     modelReply
	age       int16 // since the send
}

type stepKind uint8

// What may happen. Steps before stepTick are those of a fair run, which takes the first
// that is possible. A process goes on at once with what it sent, or was answered, unless
// that is slow: what others do in between makes a difference to nobody then.
const (
	stepRunCall stepKind = iota
	stepReadCall
	stepRunSide
	stepReadSide
	stepRunStray
	stepLose
	stepAttempt
	stepRelease
	stepPoll
	stepTick
	stepDeliver
	stepExtend
	stepSlow
	stepGiveUp
	stepLeave
	stepFreeze
	stepThaw
	modelSteps = iota
)

var stepNames = [modelSteps]string{"'s command runs", " reads the reply", "'s poll or extend runs", " reads the reply to that",
	"'s abandoned command runs", " loses a message", " goes for the lock", " releases", " polls", "", " gets a message", " extends",
	"'s command, or the reply, takes its time", " gives up a command", " leaves", " freezes, or has crashed", " thaws"}

type modelStep struct {
	kind  stepKind
	actor uint8
}

// passes tells whether time passes in the step.
func (s modelStep) passes() bool {
	return s.kind == stepTick || s.kind == stepFreeze || s.kind == stepThaw
}

func (s modelStep) String() string {
	text := fmt.Sprintf("%c%s", 'A'+s.actor, stepNames[s.kind])
	switch {
	case s.kind == stepTick:
		return "time passes"
	case s.passes():
		return "time passes, and " + text
	}
	return text
}

// model takes worlds from one state to the next.
type model struct {
	*modelServer
	base  time.Time // the present, in all worlds
	fault string    // of the last step
}

func (m *model) failf(format string, args ...any) { m.fault = fmt.Sprintf(format, args...) }

// apply takes a step. Where that is not possible it changes nothing and returns false.
func (m *model) apply(w *modelWorld, s modelStep) bool {
	m.fault = ""
	a := &w.actors[s.actor]
	runs := s.kind == stepRunCall || s.kind == stepRunSide || s.kind == stepRunStray
	switch {
	case s.passes():
		return m.tick(w, s)
	case w.turn != 0 && w.turn != 1+s.actor, a.frozen && !runs:
		return false
	}
	var f *flight // with which it has to go on
	if w.turn != 0 {
		if f = &a.call; !f.pressing() {
			f = &a.side
		}
	}
	ok := false
	switch s.kind {
	case stepRunCall:
		ok = (f == nil || f == &a.call) && m.run(w, a, &a.call)
	case stepRunSide:
		ok = (f == nil || f == &a.side) && m.run(w, a, &a.side)
	case stepRunStray:
		ok = f == nil && m.run(w, a, &a.stray)
	case stepReadCall:
		ok = (f == nil || f == &a.call) && m.readCall(w, a, s.actor)
	case stepReadSide:
		ok = (f == nil || f == &a.side) && m.readSide(a, s.actor)
	case stepSlow:
		if ok = f != nil && w.trouble.slow > 0; ok {
			w.trouble.slow--
			f.slow = true
		}
	case stepGiveUp:
		ok = f != nil && w.trouble.unanswered > 0 && m.giveUp(w, a, s.actor, f)
	case stepLeave:
		if ok = w.trouble.leaves > 0 && a.phase.waits() && f != &a.side && a.abandon(&a.call); ok {
			w.trouble.leaves--
			m.release(a, s.actor)
			m.stopWaiting(w, a)
		}
	default:
		ok = f == nil && m.act(w, a, s)
	}
	if ok {
		w.turn = 0
		if a.call.pressing() || a.side.pressing() {
			w.turn = 1 + s.actor
		}
	}
	return ok
}

func (f *flight) pressing() bool { return f.kind != cmdNone && !f.slow }

// run has Redis execute f.
func (m *model) run(w *modelWorld, a *modelActor, f *flight) bool {
	if f.kind == cmdNone || f.ran {
		return false
	}
	before := m.views[w.db]
	r := m.modelServer.run(w.db, f.modelCmd)
	w.db, m.fault = r.db, r.fault
	if f == &a.stray && f.kind == cmdAsk && a.phase == actorDone && !a.unknown && r.reply.code >= 0 {
		m.failf("an acquire of a call that had ended was let in")
	}
	f.ran, f.slow, f.reply = true, a.frozen, r.reply
	if f == &a.stray || f == &a.side && !a.phase.waits() && a.phase != actorHolding {
		*f = flight{}
	}
	for _, l := range r.told {
		to := &w.actors[l.to]
		if i := slices.Index(to.letters[:], 0); to.phase.waits() && i < 0 {
			m.failf("there are more messages than the model has room for")
		} else if to.phase.waits() {
			to.letters[i] = l.fence
		}
	}
	m.judgeOrder(w, before, m.views[w.db])
	return true
}

// tick lets time pass, unless somebody who is well has to do something first. One may
// freeze before, or thaw after it.
func (m *model) tick(w *modelWorld, s modelStep) bool {
	who := &w.actors[s.actor]
	freezes := s.kind == stepFreeze
	if w.turn != 0 || s.kind == stepTick && s.actor != 0 || s.kind == stepThaw && !who.frozen ||
		freezes && (w.trouble.freezes == 0 || who.frozen || who.phase == actorIdle || who.phase == actorDone) {
		return false
	}
	for i := range w.actors {
		if a := &w.actors[i]; !a.frozen && !(freezes && a == who) && a.due() {
			return false
		}
	}
	if freezes {
		w.trouble.freezes--
		who.frozen = true
	}
	m.judgeTick(w)
	rename := m.renaming(w)
	var tickets [actors]int16
	for _, p := range m.views[w.db].queue {
		tickets[p.actor] = rename(p.ticket)
	}
	w.db = m.age(w.db, modelTick, tickets)
	for i := range w.actors {
		w.actors[i].age(rename)
	}
	if s.kind == stepThaw {
		if who.frozen, who.tardy = false, true; who.phase == actorHolding && who.left == 0 {
			who.end(who.unknown) // it does not withdraw its token
		}
	}
	return true
}
