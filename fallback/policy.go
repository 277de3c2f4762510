package fallback

import (
	"fmt"
	"time"
)

// Policy says what becomes of a class of locks while Redis is unavailable. It is
// FailClosed or Local.
type Policy interface{ policy() }

// FailClosed has the acquire fail with client.ErrUnavailable. It is the default,
// and right for every lock that keeps data correct.
type FailClosed struct{}

// Local has the acquire succeed inside this process alone: the process's gate for
// the key, which the call has already, then is the lock.
//
// It is sound only where no other process can be inside at the same time, or where
// it does no harm if one is:
//   - one process alone takes the locks of this class;
//   - or a key has one owner at a time, since requests are routed by it (sticky);
//   - or the lock only saves work: two who do it both waste time and break nothing.
//
// It is not sound for anything else. While Redis is gone every process has a lock
// of its own. If only the way from this process to Redis is cut, the others go on
// with the lock in Redis, and the two sides split: no time-out prevents that.
// Lease.Degraded tells the holder, and such a lease has no fence, so a resource
// that checks fences can refuse it.
//
// When Redis is back a degraded lease lives on to its end. The gate keeps the calls
// of this process out until then; other processes it does not.
type Local struct {
	// MaxTTL bounds the TTL of the class's leases, degraded or not: an acquire with
	// a longer TTL or minimum hold, and an Extend to a longer one, fail with
	// client.ErrInvalid. It must be set, to at least 1 ms and to the same in all
	// processes, and WithTTL must keep within it (the Client's default is 30 s).
	//
	// It is also the quarantine: nothing is granted locally before Redis has been
	// silent for MaxTTL since the breaker opened. By then each lease that any
	// process got before the outage has run out. Any answer from Redis starts the
	// time anew, even one that says it is loading or read-only.
	MaxTTL time.Duration
	// UnsafeSkipQuarantine grants locally as soon as the breaker opens. A process
	// whose lease from Redis is still running then shares the lock with this one for
	// up to MaxTTL, in every outage. Only for locks that merely save work.
	UnsafeSkipQuarantine bool
}

func (FailClosed) policy() {}
func (Local) policy()      {}

// quarantine is how long Redis must have been silent before a local grant.
func (l Local) quarantine() time.Duration {
	if l.UnsafeSkipQuarantine {
		return 0
	}
	return l.MaxTTL
}

// Policies gives each class of locks its Policy.
type Policies struct {
	// Default is that of the classes that Classes does not name. Default FailClosed.
	Default Policy
	// Classes maps a class (see client.WithClass) to its policy.
	Classes map[string]Policy
}

// locals returns the classes that have a policy, and the default; nil stands for
// FailClosed.
func (p Policies) locals() (classes map[string]*Local, byDefault *Local, err error) {
	if p.Default != nil {
		if byDefault, err = localOf(p.Default); err != nil {
			return nil, nil, invalid("default policy: %w", err)
		}
	}
	classes = make(map[string]*Local, len(p.Classes))
	for class, policy := range p.Classes {
		if classes[class], err = localOf(policy); err != nil {
			return nil, nil, invalid("policy of class %q: %w", class, err)
		}
	}
	return classes, byDefault, nil
}

func localOf(p Policy) (*Local, error) {
	switch p := p.(type) {
	case FailClosed:
		return nil, nil
	case Local:
		if p.MaxTTL < time.Millisecond {
			return nil, fmt.Errorf("a Local needs a MaxTTL of at least 1ms, has %v", p.MaxTTL)
		}
		return &p, nil
	}
	return nil, fmt.Errorf("must be a FailClosed or a Local, is %T", p)
}
