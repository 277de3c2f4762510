package client

import "sync/atomic"

// Verdict says what the end of a command tells about the server's health.
type Verdict uint8

const (
	// Neutral tells nothing: the command was never sent, the pool had no
	// connection, or the server refused this client in particular.
	Neutral Verdict = iota
	// Healthy means that the server did its work, even if the lock is held.
	Healthy
	// Faulty means that the server could not be reached in time, or answered
	// that it cannot work at present (LOADING, READONLY, CLUSTERDOWN, ...).
	Faulty
)

// settlement carries one verdict from the command to the layer that wants it.
type settlement struct {
	fn      func(Verdict)
	started atomic.Bool
	done    atomic.Bool
}

// WithSettlement returns a copy of r whose next attempt reports, through fn and
// exactly once, how its command really ended. Where the caller left earlier
// that is later than the Handler's return: a command that nobody waits for any
// more still ends, by its reply or by its own bound, and its verdict counts.
// The layer must call finish after next has returned; if no command was started
// by then, fn gets Neutral.
func (r Request) WithSettlement(fn func(Verdict)) (copied Request, finish func()) {
	s := &settlement{fn: fn}
	r.settle = s
	return r, func() {
		if !s.started.Load() {
			s.end(Neutral)
		}
	}
}

func (s *settlement) start() {
	if s != nil {
		s.started.Store(true)
	}
}

func (s *settlement) end(v Verdict) {
	if s != nil && s.done.CompareAndSwap(false, true) {
		s.fn(v)
	}
}
