package client

import (
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	modelTick  = 600 * time.Millisecond // by which time passes
	modelBound = 600 * time.Millisecond // of a command, from the send to the reply, of a process that is well
	queueLife  = 10 * time.Second
)

// TestProtocol goes through all ways in which a few processes may contend for a lock.
// The scripts are the real ones, and so are the rules by which a waiter takes a reply,
// a message and a deadline; see protocol_world_test.go for what may happen. There is no
// bound on time: a search ends when it meets no new world. Bounded is how often things
// go wrong: how many processes freeze or crash, commands stay unanswered, callers
// leave, and commands or replies take their time. Messages may be late or lost always.
//
// HOLDFAST_SOAK=1 lets more go wrong in one run, which takes some minutes and 2 GB.
func TestProtocol(t *testing.T) {
	alone := func(ttl, extend time.Duration) contender { return contender{mode: Exclusive, ttl: ttl, extend: extend} }
	const s = time.Second
	reader, user := contender{mode: SharedMode, ttl: 3 * s}, contender{mode: SlotsMode, slots: 2, ttl: 3 * s, extend: s}
	for _, tt := range []struct {
		name       string
		contenders []contender
		trouble    modelTrouble
	}{
		{"two with slow commands", []contender{alone(3*s, s), alone(3*s/2, 0)}, modelTrouble{freezes: 1, leaves: 1, slow: 1}},
		{"two with lost commands", []contender{alone(3*s, s), alone(3*s/2, 0)}, modelTrouble{freezes: 1, leaves: 1, unanswered: 1}},
		{"three", []contender{alone(3*s, 0), alone(3*s, 0), alone(3*s, 0)}, modelTrouble{freezes: 1, leaves: 1}},
		{"readers and a writer", []contender{reader, reader, alone(3*s, 0)}, modelTrouble{freezes: 1, leaves: 1}},
		{"slots", []contender{user, user, user}, modelTrouble{freezes: 1, leaves: 1}},
	} {
		ok := t.Run(tt.name, func(t *testing.T) {
			if os.Getenv("HOLDFAST_SOAK") == "1" {
				tt.trouble = modelTrouble{freezes: 1, unanswered: 1, slow: 1}
			}
			m := &model{modelServer: newModelServer(t, tt.contenders), base: time.Now()}
			s := &search{model: m, first: modelWorld{trouble: tt.trouble}, seed: maphash.MakeSeed(), fates: make(map[uint64]fate)}
			s.run(t)
			t.Logf("%d worlds, %d states of Redis, %d runs of scripts; all who live are served within %v, nothing is left after %v",
				len(s.visits), len(m.states), len(m.runs), s.worst.served, s.worst.clean)
		})
		if !ok {
			return // the way to the same fault is longer in the others
		}
	}
}

// search goes through all worlds, those that time reaches first.
type search struct {
	*model
	first  modelWorld
	seed   maphash.Seed
	visits []visit
	fates  map[uint64]fate
	worst  fate
}

// visit is how the search came to a world.
type visit struct {
	from int32
	step modelStep
}

func (s *search) run(t *testing.T) {
	type open struct {
		w modelWorld
		n int32
	}
	seen := map[uint64]bool{maphash.Comparable(s.seed, s.first): true}
	s.visits = []visit{{from: -1}}
	var later []open
	for now := []open{{s.first, 0}}; len(now) > 0; {
		cur := now[0]
		now = now[1:]
		next := cur.w
		for i := range modelSteps * actors {
			step := modelStep{stepKind(i / actors), uint8(i % actors)}
			if step.kind == stepLose || !s.apply(&next, step) {
				continue
			}
			if s.fault == "" {
				s.judgeLeases(&next)
			}
			if hash := maphash.Comparable(s.seed, next); s.fault == "" && !seen[hash] {
				seen[hash] = true
				s.visits = append(s.visits, visit{cur.n, step})
				found := open{next, int32(len(s.visits) - 1)}
				if step.passes() {
					later = append(later, found)
					s.foresee(next)
				} else {
					now = append(now, found)
				}
			}
			if s.fault != "" {
				s.report(t, cur.n, step)
			}
			next = cur.w
		}
		if len(now) == 0 {
			now, later = later, nil
		}
	}
}

// report fails the test, with the way to the fault.
func (s *search) report(t *testing.T, n int32, last modelStep) {
	t.Helper()
	fault := s.fault
	steps := []modelStep{last}
	for ; s.visits[n].from >= 0; n = s.visits[n].from {
		steps = append(steps, s.visits[n].step)
	}
	var b strings.Builder
	w := s.first
	for _, step := range slices.Backward(steps) {
		s.apply(&w, step)
		fmt.Fprintf(&b, "\t%s\n", step)
	}
	t.Fatalf("%s, after\n%sRedis has %v\nthe processes are %+v", fault, &b, s.states[w.db], w.actors)
}

// fate is how long it takes from a world, if nothing more goes wrong but that no
// message arrives, until all who wait and live have had the lock, and until nothing is
// left of it but the fence.
type fate struct{ served, clean time.Duration }

const underWay = -time.Hour

// foresee finds the fate of w, and a fault where that is to wait too long.
func (s *search) foresee(w modelWorld) fate {
	w.trouble = modelTrouble{}
	hash := maphash.Comparable(s.seed, w)
	if f, known := s.fates[hash]; known {
		if f.served == underWay {
			s.failf("it goes on like this for ever")
		}
		return f
	}
	served := !slices.ContainsFunc(w.actors[:], func(a modelActor) bool { return !a.frozen && a.phase != actorIdle && a.phase != actorDone })
	if served && s.views[w.db].clean {
		return fate{}
	}
	s.fates[hash] = fate{served: underWay}
	for s.fair(&w) {
	}
	if s.fault != "" {
		return fate{}
	}
	f := s.foresee(w)
	if f.clean += modelTick; !served {
		f.served += modelTick
	}
	switch { // a process that died, with a lease or a reservation, and a poll
	case f.served > reservation+pollCap+modelTick:
		s.failf("from here those who live wait for %v", f.served)
	case f.clean > queueLife+modelTick:
		s.failf("from here keys stay for %v", f.clean)
	}
	s.fates[hash] = f
	s.worst = fate{max(s.worst.served, f.served), max(s.worst.clean, f.clean)}
	return f
}

// fair takes the next step of a fair run, and tells whether there are more before
// time has passed.
func (s *search) fair(w *modelWorld) bool {
	for i := range int(stepTick) * actors {
		step := modelStep{stepKind(i / actors), uint8(i % actors)}
		starts := step.kind == stepAttempt && w.actors[step.actor].phase == actorIdle
		if !starts && s.apply(w, step) {
			return s.fault == ""
		}
	}
	if !s.apply(w, modelStep{kind: stepTick}) {
		s.failf("nobody can go on")
	}
	return false
}
