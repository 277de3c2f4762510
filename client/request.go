package client

import (
	"context"
	"time"
)

// Mode says how a lock is held.
type Mode uint8

const (
	// Exclusive: one lease alone holds the key.
	Exclusive Mode = iota
	// SharedMode: leases of this mode hold the key together; see Shared.
	SharedMode
	// SlotsMode: up to Request.Slots leases hold the key together; see Slots.
	SlotsMode
)

// String gives the mode's name.
func (m Mode) String() string {
	switch m {
	case Exclusive:
		return "exclusive"
	case SharedMode:
		return "shared"
	case SlotsMode:
		return "slots"
	}
	return "unknown"
}

// Request is one acquire on its way through the pipeline. It goes by value: a
// layer that edits a field edits its own copy and what it hands to the next.
// Per-call state that an outer layer must see lives in the record behind Call,
// which all copies share.
type Request struct {
	Key         string        // as the caller gave it; of AcquireAll, all of Keys in one text
	Keys        []string      // of AcquireAll, in the order in which they are taken; else nil
	Class       string        // static, low-cardinality name; the only lock label a metric may carry
	TTL         time.Duration // how long a grant lasts unless it is renewed
	Wait        bool          // false for TryAcquire
	WaitTimeout time.Duration // bound of the whole wait, 0 for none; see WithWaitTimeout
	MinHold     time.Duration // see WithMinHold
	MaxTTL      time.Duration // bound of later Extends, 0 for none; a layer may lower it
	Attempt     int           // 1-based, set by the retry layer; 0 where there is none
	Mode        Mode
	Slots       int    // how many may hold the key together, in SlotsMode
	Owner       string // identity that may re-enter, empty for none; see WithOwner
	Barge       bool   // enter over those who wait where the holders allow it; see Barging
	// Enqueue has an attempt that finds the lock held wait in the queue of the lock
	// in Redis: set by a layer that tries again when Call.Woken says so.
	Enqueue bool

	call   *Call
	settle *settlement
}

// Handler performs an acquire: it returns a lease, or an error and no lease.
// The ctx bounds the wait alone; the lease lives on the ctx that was given to
// Client.Acquire. A Handler is safe for concurrent use.
type Handler func(ctx context.Context, req Request) (*Lease, error)

// Middleware wraps a Handler into another one. It runs once, when the Client is
// made; the Handler that it returns runs once per call (or once per attempt,
// below the retry layer), from many goroutines at a time, so per-call state
// belongs into local variables of the Handler.
//
// A layer may refuse (return an error without calling next), repeat next, or
// edit its copy of the request. A lease that a layer obtained and did not pass
// on is released by the Client.
type Middleware func(next Handler) Handler

// Layer is a Middleware with the name under which Client.Pipeline prints it.
type Layer struct {
	Name       string
	Middleware Middleware
}

// Chain folds mws into one Middleware, of which the first is the outermost.
// Nil entries are left out.
func Chain(mws ...Middleware) Middleware {
	return func(next Handler) Handler {
		for i := len(mws) - 1; i >= 0; i-- {
			if mws[i] != nil {
				next = mws[i](next)
			}
		}
		return next
	}
}

// Scope names the space of locks to which the request's key belongs: endpoint,
// prefix and gate of its Client. Two requests with equal Scope and Key contend
// for the same lock.
func (r Request) Scope() string {
	if r.call == nil {
		return ""
	}
	return r.call.client.scope
}

// Call returns the record that all copies of the request share. It is never nil
// in a request that came from a Client.
func (r Request) Call() *Call { return r.call }
