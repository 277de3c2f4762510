package fallback

import "github.com/sony/gobreaker/v2"

// State is what a Breaker does with attempts.
type State uint8

const (
	// Closed lets every attempt through.
	Closed State = iota
	// HalfOpen lets a few attempts through on trial and refuses the others.
	HalfOpen
	// Open refuses every attempt.
	Open
)

// String gives the state's name: closed, half-open or open.
func (s State) String() string {
	switch s {
	case Closed:
		return "closed"
	case HalfOpen:
		return "half-open"
	case Open:
		return "open"
	}
	return "unknown"
}

func stateOf(s gobreaker.State) State {
	switch s {
	case gobreaker.StateClosed:
		return Closed
	case gobreaker.StateHalfOpen:
		return HalfOpen
	default:
		return Open
	}
}
