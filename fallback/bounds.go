package fallback

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// Bound is a limit of a Local.
type Bound string

// The bounds of a Local.
const (
	BoundDuration Bound = "max_duration" // Local.MaxDuration
	BoundLeases   Bound = "max_leases"   // Local.MaxLeases
)

// BoundError is the refusal of a class that is degraded and has come to a bound of its
// Local. It matches client.ErrUnavailable: Redis still could not be asked, which is
// what it wraps.
type BoundError struct {
	Class string
	Bound Bound
	Since time.Time // when Redis became unavailable
	limit any
	err   error
}

func (e *BoundError) Error() string {
	switch e.Bound {
	case BoundDuration:
		return fmt.Sprintf("holdfast: redis unavailable for longer than the %v for which class %q may be degraded: see what ails Redis, or raise MaxDuration; %v",
			e.limit, e.Class, e.err)
	default:
		return fmt.Sprintf("holdfast: redis unavailable, and class %q has the %v degraded leases that it may have: try again when one has ended, or raise MaxLeases; %v",
			e.Class, e.limit, e.err)
	}
}

// Is makes a BoundError match client.ErrUnavailable.
func (e *BoundError) Is(target error) bool { return target == client.ErrUnavailable }

// Unwrap returns why Redis could not be asked.
func (e *BoundError) Unwrap() error { return e.err }

// ShortCircuit is true: to try again at once is of no use.
func (e *BoundError) ShortCircuit() bool { return true }

// Rejected is true: the call was refused before Redis.
func (e *BoundError) Rejected() bool { return true }

// exceeded is the bound of l that forbids a further lease beside those there are.
func (l *Local) exceeded(o *outage, class string, leases int, why error) error {
	switch {
	case l.MaxDuration > 0 && o.degradedFor() >= l.MaxDuration:
		return &BoundError{class, BoundDuration, o.began.wall, l.MaxDuration, why}
	case l.MaxLeases > 0 && leases >= l.MaxLeases:
		return &BoundError{class, BoundLeases, o.began.wall, l.MaxLeases, why}
	}
	return nil
}
