package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The sentinels of this package. A failure matches exactly one of them under
// errors.Is; *Error carries the operation and the key, and an error of the
// caller's context stays visible beside the sentinel.
var (
	// ErrNotAcquired: somebody else holds the lock. errors.As with *HeldError
	// tells who and for how long.
	ErrNotAcquired = errors.New("holdfast: lock not acquired")
	// ErrNotHeld: the lease to release or extend is no longer ours.
	ErrNotHeld = errors.New("holdfast: lease not held")
	// ErrLost is the cause of a Lease's context when the lease ended under its
	// holder. errors.As with *LostError tells how.
	ErrLost = errors.New("holdfast: lease lost")
	// ErrReleased is the cause of a Lease's context after Release.
	ErrReleased = errors.New("holdfast: lease released")
	// ErrUnavailable: Redis could not be asked, or could not answer; it wraps the
	// reason. The outcome of the last attempt may be unknown.
	ErrUnavailable = errors.New("holdfast: redis unavailable")
	// ErrRefused: Redis answered and will go on refusing until somebody changes
	// the set-up (wrong type at the key, missing permission, no scripts).
	ErrRefused = errors.New("holdfast: redis refused the request")
	// ErrClosed: the Client is closed.
	ErrClosed = errors.New("holdfast: client closed")
	// ErrInvalid: an argument or option is wrong; nothing was sent.
	ErrInvalid = errors.New("holdfast: invalid argument")
)

// Error says which operation failed on which lock.
type Error struct {
	Op  string // acquire, extend, release, inspect, break, ...
	Key string // as the caller gave it
	Err error
}

func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("holdfast: %s: %s", e.Op, plain(e.Err))
	}
	return fmt.Sprintf("holdfast: %s %q: %s", e.Op, e.Key, plain(e.Err))
}

// plain is an error's text without the library's name in front of its parts.
func plain(err error) string { return strings.ReplaceAll(err.Error(), "holdfast: ", "") }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// HeldError is the detail of ErrNotAcquired: what is known of the holder.
type HeldError struct {
	Key         string        // which of several keys is held; empty where there is but one
	Local       bool          // held inside this process: Redis was not asked
	Resting     bool          // released, and kept by WithMinHold until TTL has passed
	Holder      string        // the holder's identity, empty if unknown
	Since       time.Time     // when it was granted, by the server's clock; zero if unknown
	TTL         time.Duration // left on the key when Redis was asked; 0 if unknown
	Traceparent string        // of the holder's acquire span, unchecked; empty if none
	Position    int           // place in the queue of the lock in Redis, from 1; 0 for one that does not queue
}

func (e *HeldError) Error() string {
	lock := "it"
	if e.Key != "" {
		lock = strconv.Quote(e.Key)
	}
	switch {
	case e.Local:
		return fmt.Sprintf("holdfast: lock not acquired: %s is held or awaited inside this process", lock)
	case e.Resting:
		return fmt.Sprintf("holdfast: lock not acquired: %s rests for its minimum hold, %v more", lock, e.TTL)
	default:
		return fmt.Sprintf("holdfast: lock not acquired: %q holds %s, TTL %v", e.Holder, lock, e.TTL)
	}
}

// Is makes a HeldError match ErrNotAcquired.
func (e *HeldError) Is(target error) bool { return target == ErrNotAcquired }

// LostError is the detail of ErrLost.
type LostError struct {
	Reason EndReason
	Loss   LossReason // empty for EndMaxHold
	Detail string
}

func (e *LostError) Error() string { return "holdfast: lease lost: " + e.Detail }

// Is makes a LostError match ErrLost.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// TimeoutError is the cause of a context that a limit of the pipeline ended.
// That of the wait (WithWaitTimeout) matches context.DeadlineExceeded, since to
// the caller it is the deadline of the wait; that of one attempt does not.
type TimeoutError struct {
	Limit string // which limit: "wait timeout", "attempt timeout", "command timeout"
	After time.Duration
	Wait  bool // it bounded the caller's whole wait
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("holdfast: %s of %v passed", e.Limit, e.After)
}

// Is makes the time-out of a wait match context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool {
	return e.Wait && target == context.DeadlineExceeded
}

// Timeout marks it as a time-out, as net.Error does.
func (e *TimeoutError) Timeout() bool { return true }

// WaitEnded is the error of a wait whose ctx ended: last, the outcome known last
// (nil if none is), joined with the reason for which ctx ended. A layer that
// waits returns it, so that "timed out while held" and "timed out while Redis
// failed" stay apart.
func WaitEnded(ctx context.Context, req Request, last error) error {
	if req.call != nil && req.call.client.closing.Err() != nil && context.Cause(ctx) == context.Cause(req.call.client.closing) {
		return &Error{Op: "acquire", Key: req.Key, Err: ErrClosed}
	}
	var e *Error
	if last == nil && req.call != nil {
		last = req.call.lastOutcome()
	}
	if errors.As(last, &e) {
		last = e.Err
	}
	if last == nil {
		last = fmt.Errorf("%w: the wait ended before Redis had answered", ErrUnavailable)
	}
	if why := contextError(ctx); !errors.Is(last, why) {
		last = fmt.Errorf("%w: %w", last, why)
	}
	return &Error{Op: "acquire", Key: req.Key, Err: last}
}
