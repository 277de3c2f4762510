package client

import (
	"context"
	"errors"
)

// Outcome is how an acquire ended, in the words that spans, metrics and logs use.
type Outcome string

// The outcomes of an acquire.
const (
	OutcomeAcquired  Outcome = "acquired"  // a lease was returned
	OutcomeContended Outcome = "contended" // another holds the lock
	OutcomeTimeout   Outcome = "timeout"   // the caller's deadline or wait timeout passed
	OutcomeCanceled  Outcome = "canceled"  // the caller cancelled
	OutcomeError     Outcome = "error"     // Redis failed or refused
	OutcomeRejected  Outcome = "rejected"  // refused before Redis: invalid, closed, breaker open, a layer's own error
)

// rejection is implemented by errors of layers that refused a call without
// asking Redis.
type rejection interface{ Rejected() bool }

// OutcomeOf is the one place that turns the error of an acquire into an outcome.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeAcquired
	}
	var r rejection
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return OutcomeTimeout
	case errors.Is(err, context.Canceled):
		return OutcomeCanceled
	case errors.Is(err, ErrNotAcquired):
		return OutcomeContended
	case errors.As(err, &r) && r.Rejected():
		return OutcomeRejected
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrRefused):
		return OutcomeError
	default:
		return OutcomeRejected
	}
}

// ErrorType names the sentinel that err matches, for use as a low-cardinality
// attribute; empty for nil, "other" for an error that is not of this library.
func ErrorType(err error) string {
	if err == nil {
		return ""
	}
	for _, t := range errorTypes {
		if errors.Is(err, t.err) {
			return t.name
		}
	}
	return "other"
}

var errorTypes = []struct {
	err  error
	name string
}{
	{ErrNotAcquired, "not_acquired"},
	{ErrUnavailable, "unavailable"},
	{ErrRefused, "refused"},
	{ErrNotHeld, "not_held"},
	{ErrLost, "lost"},
	{ErrClosed, "closed"},
	{ErrInvalid, "invalid"},
	{context.DeadlineExceeded, "timeout"},
	{context.Canceled, "canceled"},
}
