package contract

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// act is what happened to a lock, as the one saw it who did it. A lease has two:
// its grant, and its end. The end may come from the instant at which the holder
// gave the lock up, or its Deadline passed, whichever was first; by then, and not
// before, another may have it.
type act struct {
	kind  actKind
	lease int
	fence uint64 // of a grant, 0 if it has none
}

type actKind int

const (
	actGranted actKind = iota
	actHeld            // refused, since another holds it
	actEnded
)

// lockState is what a lock is in, between two acts.
type lockState struct {
	lease int // who holds it, 0 for nobody
	fence uint64
}

// lockModel is a lock that one lease has at a time, and whose fence rises.
var lockModel = porcupine.Model{
	Init: func() any { return lockState{} },
	Step: func(state, input, _ any) (bool, any) { return state.(lockState).step(input.(act)) },
}

func (s lockState) step(a act) (bool, lockState) {
	switch a.kind {
	case actGranted:
		return s.lease == 0 && (a.fence == 0 || a.fence > s.fence), lockState{a.lease, max(a.fence, s.fence)}
	case actHeld:
		return s.lease != 0, s
	default:
		return s.lease == a.lease, lockState{0, s.fence}
	}
}

// never is the return of an act of which nobody knows when it was done.
const never = math.MaxInt64

// recorder keeps the acts on one lock, from many goroutines.
type recorder struct {
	start time.Time

	mu      sync.Mutex
	last    int64
	lease   int
	unknown bool
	ops     []porcupine.Operation
}

func newRecorder() *recorder { return &recorder{start: time.Now()} }

// at is the instant t on the recorder's clock, in nanoseconds.
func (r *recorder) at(t time.Time) int64 { return int64(t.Sub(r.start)) }

// stamp is now on the recorder's clock, and never the same twice: in a bubble much
// happens at one instant, and still one after the other.
func (r *recorder) stamp() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = max(r.last+1, r.at(time.Now()))
	return r.last
}

func (r *recorder) add(a act, call, ret int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, porcupine.Operation{Input: a, Call: call, Return: ret})
}

// next names a lease.
func (r *recorder) next() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lease++
	return r.lease
}

// unsure notes an attempt of which nobody knows whether it was granted.
func (r *recorder) unsure() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unknown = true
}

// check says what is wrong with the history, nil if nothing is. What was refused
// after an unknown attempt may have been so by that one's grant, and proves nothing.
func (r *recorder) check() error {
	if r.unknown {
		r.ops = slices.DeleteFunc(r.ops, func(o porcupine.Operation) bool { return o.Input.(act).kind == actHeld })
	}
	if porcupine.CheckOperations(lockModel, r.ops) {
		return nil
	}
	return fmt.Errorf("two held the lock, its fence fell, or it was refused while it was free:\n%s", r)
}

func (r *recorder) String() string {
	ops := slices.Clone(r.ops)
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	for _, o := range ops {
		a, until := o.Input.(act), "?"
		if o.Return != never {
			until = time.Duration(o.Return).String()
		}
		name := [...]string{"granted", "held", "ended"}[a.kind]
		fmt.Fprintf(&text, "  %14v - %-14s %-8s lease %d fence %d\n", time.Duration(o.Call), until, name, a.lease, a.fence)
	}
	return text.String()
}
