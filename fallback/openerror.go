package fallback

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// OpenError is the refusal of a breaker that is not closed: Redis was not asked.
// It matches client.ErrUnavailable.
type OpenError struct {
	Breaker string    // the breaker's name
	Since   time.Time // when it ceased to be closed
	Drill   bool      // nothing but a Drill, which has begun then
	reason  string
}

func (e *OpenError) Error() string {
	if e.Drill {
		return fmt.Sprintf("holdfast: redis unavailable: a drill of degraded mode is under way since %s, so Redis was not asked", e.Since.Format(time.RFC3339))
	}
	return fmt.Sprintf("holdfast: redis unavailable: circuit breaker %q is open since %s (%s), so Redis was not asked: see what ails Redis; the breaker closes by itself when Redis is back",
		e.Breaker, e.Since.Format(time.RFC3339), e.reason)
}

// Is makes an OpenError match client.ErrUnavailable.
func (e *OpenError) Is(target error) bool { return target == client.ErrUnavailable }

// ShortCircuit is true: to try again at once is of no use.
func (e *OpenError) ShortCircuit() bool { return true }

// Rejected is true: the call was refused before Redis.
func (e *OpenError) Rejected() bool { return true }
