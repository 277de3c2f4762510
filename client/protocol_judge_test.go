package client

import (
	"fmt"
	"slices"
	"time"
)

// admits tells whether an actor may hold the lock beside others.
func (s *modelServer) admits(others []modelHeld, actor uint8) bool {
	p := s.contenders[actor]
	for _, h := range others {
		if o := s.contenders[h.actor]; p.mode == Exclusive || o.mode != p.mode {
			return false
		}
	}
	return p.mode != SlotsMode || len(others) < p.slots
}

// granted returns those who hold the lock after a command and did not before.
func granted(before, after modelView) []modelHeld {
	return slices.DeleteFunc(slices.Clone(after.held), func(h modelHeld) bool {
		old, ok := before.holder(h.actor)
		return ok && old.fence == h.fence
	})
}

// judge finds faults in what one command did.
func (s *modelServer) judge(before, after modelView, cmd modelCmd, r modelResult) string {
	fences := []uint16{before.fence}
	for _, h := range granted(before, after) {
		others := slices.DeleteFunc(slices.Clone(after.held), func(o modelHeld) bool { return o.actor == h.actor })
		direct := cmd.kind == cmdAsk && cmd.actor == h.actor && r.reply.code == 1 && r.reply.fence == h.fence
		old, again := before.holder(h.actor)
		switch {
		case again:
			return fmt.Sprintf("%c has the lock with fence %d, and got it anew with %d", 'A'+h.actor, old.fence, h.fence)
		case !s.admits(others, h.actor):
			return fmt.Sprintf("%c was let in beside %v", 'A'+h.actor, others)
		case h.fence <= before.fence || slices.Contains(fences, h.fence):
			return fmt.Sprintf("%c got fence %d after %v", 'A'+h.actor, h.fence, fences)
		case !direct && !slices.Contains(r.told, told{h.actor, h.fence}):
			return fmt.Sprintf("%c got the lock, and neither a message nor a reply says so", 'A'+h.actor)
		case !direct && h.left != int(reservation/time.Millisecond):
			return fmt.Sprintf("%c was handed the lock for %d ms", 'A'+h.actor, h.left)
		}
		if p, waited := before.place(h.actor); waited && p.beat <= 0 && cmd.actor != h.actor {
			return fmt.Sprintf("%c was handed the lock %d ms after its beat was due", 'A'+h.actor, -p.beat)
		}
		fences = append(fences, h.fence)
	}
	_, holds := after.holder(cmd.actor)
	switch {
	case after.fence < slices.Max(fences), len(fences) == 1 && after.fence != before.fence, len(r.told) >= len(fences):
		return fmt.Sprintf("fences %v were granted, the last is said to be %d, and the messages are %v", fences[1:], after.fence, r.told)
	case (cmd.kind == cmdAsk || cmd.kind == cmdPoll) && r.reply.code == 1 && !holds:
		return fmt.Sprintf("%c was told that it has the lock, and has not", 'A'+cmd.actor)
	}
	for _, p := range before.queue {
		_, waits := after.place(p.actor)
		_, holds := after.holder(p.actor)
		if !waits && !holds && p.beat > 0 && (cmd.kind != cmdRelease || cmd.actor != p.actor) {
			return fmt.Sprintf("%c lost its place %d ms before its beat was due", 'A'+p.actor, p.beat)
		}
	}
	alive := func(p modelPlace) bool { return p.beat > 0 }
	hands := cmd.kind == cmdRelease || cmd.kind == cmdPoll || cmd.kind == cmdAsk && r.reply.code == 0
	if i := slices.IndexFunc(after.queue, alive); hands && i >= 0 && s.admits(after.held, after.queue[i].actor) {
		return fmt.Sprintf("%c is left waiting for a lock that it may have", 'A'+after.queue[i].actor)
	}
	return after.fault
}

func (a *modelActor) keepsBeat() bool { return a.phase.waits() && !a.frozen && !a.tardy }

// judgeOrder keeps the order in which the actors entered the queue, and sees whether
// one of them was overtaken in a command.
func (m *model) judgeOrder(w *modelWorld, before, after modelView) {
	for _, p := range after.queue {
		a := &w.actors[p.actor]
		if _, waited := before.place(p.actor); waited || !a.phase.waits() {
			continue
		}
		if a.order != 0 {
			a.tardy = true // it was out of the queue meanwhile
			continue
		}
		last := slices.MaxFunc(w.actors[:], func(a, b modelActor) int { return int(a.order) - int(b.order) })
		a.order = last.order + 1
	}
	if after.fence == before.fence {
		return
	}
	for _, h := range granted(before, after) {
		a := &w.actors[h.actor]
		for _, p := range after.queue {
			o := &w.actors[p.actor]
			was, waited := before.place(p.actor)
			if waited && was.beat > 0 && o.keepsBeat() && a.keepsBeat() && (a.order == 0 || o.order < a.order) {
				m.failf("%c got the lock before %c, who was first", 'A'+h.actor, 'A'+p.actor)
			}
		}
	}
}

// judgeTick finds out what goes to waste when time passes.
func (m *model) judgeTick(w *modelWorld) {
	tick := int(ms(modelTick))
	for _, h := range m.views[w.db].held {
		if h.left <= tick && w.actors[h.actor].keepsBeat() {
			m.failf("%c was handed the lock, and did not notice while it had it", 'A'+h.actor)
		}
	}
	for _, p := range m.views[w.db].queue {
		if p.beat > 0 && p.beat <= tick && w.actors[p.actor].keepsBeat() {
			m.failf("%c polls, and is taken for dead", 'A'+p.actor)
		}
	}
}

// judgeLeases compares what the processes believe with what Redis says, and with each
// other. A frozen one goes on to believe, until its deadline.
func (m *model) judgeLeases(w *modelWorld) {
	for i := range w.actors {
		a := &w.actors[i]
		if a.left == 0 {
			continue
		}
		if h, ok := m.views[w.db].holder(uint8(i)); !ok || h.left < int(a.left) {
			m.failf("%c takes the lock for its own for %d ms, and Redis has it with %v", 'A'+i, a.left, m.views[w.db].held)
		}
		var others []modelHeld
		for j := range w.actors {
			if j != i && w.actors[j].left > 0 {
				others = append(others, modelHeld{actor: uint8(j)})
			}
		}
		if !m.admits(others, uint8(i)) {
			m.failf("%c has the lock, and so have %v", 'A'+i, others)
		}
	}
}
