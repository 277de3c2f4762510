package client

import "time"

// deadline is an instant that has passed as soon as either clock says so: Go's
// monotonic clock stops while the machine sleeps, and the wall clock may be set
// back.
type deadline struct{ mono, wall time.Time }

// deadlineAt is the local end of a lease whose TTL was sent at the instant sent:
// before the server's end of it, since the server counts from later, and less an
// allowance for clocks that run at different speeds (1 % of the TTL and up to
// 2 ms, after Redlock, https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
func deadlineAt(sent time.Time, ttl time.Duration) deadline {
	at := sent.Add(ttl - ttl/100 - min(2*time.Millisecond, ttl/10))
	return deadline{mono: at, wall: at.Round(0)}
}

func (d deadline) passed(now time.Time) bool {
	return !now.Before(d.mono) || !now.Round(0).Before(d.wall)
}

// left is what remains by the clock that is further on.
func (d deadline) left(now time.Time) time.Duration {
	return min(d.mono.Sub(now), d.wall.Sub(now.Round(0)))
}

// later is the later of two deadlines: no script shortens a TTL, so what was
// granted once stays granted.
func (d deadline) later(o deadline) deadline {
	if o.mono.After(d.mono) {
		return o
	}
	return d
}
