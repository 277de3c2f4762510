package client

import (
	"context"
	"time"
)

// EventKind is the kind of an Event.
type EventKind uint8

const (
	// EventRenewed: a renewal or an Extend was confirmed.
	EventRenewed EventKind = iota + 1
	// EventRenewalFailed: a renewal got no answer or an error; the lease lives on
	// to its deadline and the renewal is repeated.
	EventRenewalFailed
	// EventReleased: a release command ended, well or not (Err).
	EventReleased
	// EventEnded: the lease is over. It comes once. Nothing follows but an
	// EventReleased, where the Release came after a cancel or a maximum hold.
	EventEnded
	// EventDowngraded: an exclusive lease is shared from now on; see Lease.Downgrade.
	EventDowngraded
	// EventPromoted: a degraded lease is in Redis, and as any other from now on; see
	// Promote.
	EventPromoted
)

// EndReason says why a lease ended.
type EndReason string

// The reasons for which a lease ends.
const (
	EndReleased EndReason = "released" // Release was called in time
	EndExpired  EndReason = "expired"  // the TTL of a lease without renewal passed
	EndLost     EndReason = "lost"     // it ended under the holder, see LossReason
	EndConflict EndReason = "conflict" // a degraded lease met another holder in Redis
	EndMaxHold  EndReason = "max_hold" // WithMaxHold passed
	EndCanceled EndReason = "canceled" // the context given to Acquire ended
	EndClosed   EndReason = "closed"   // the Client was closed before the lease was released
)

// LossReason says how a lease was lost.
type LossReason string

// The ways in which a lease is lost.
const (
	LossExpired     LossReason = "expired"     // its key was gone, or its time passed unrenewed
	LossTaken       LossReason = "taken"       // its key was another's
	LossUnreachable LossReason = "unreachable" // its deadline passed while renewals failed
	LossConflict    LossReason = "conflict"    // it was degraded, and another held the lock in Redis
)

// Event is something that happened to a lease; see Lease.Observe.
type Event struct {
	Kind     EventKind
	Lease    *Lease
	At       time.Time       // when it happened
	Duration time.Duration   // of the command (renewed, renewal failed, released); of the hold (ended)
	Headroom float64         // renewed: share of the TTL that was left at confirmation, 0 to 1
	Err      error           // renewal failed and released: what went wrong; ended: the context's cause
	Reason   EndReason       // ended
	Loss     LossReason      // ended by a loss
	Context  context.Context // released: the context of the Release, for tracing
}
