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
//   - one process alone takes the locks of this class, or those of one host do and
//     HostWide is set;
//   - or a key has one owner at a time, since requests are routed by it (sticky);
//   - or the lock only saves work: two who do it both waste time and break nothing.
//
// It is not sound for anything else. While Redis is gone every process has a lock
// of its own. If only the way from this process to Redis is cut, the others go on
// with the lock in Redis, and the two sides split: no time-out prevents that, the
// quarantine least of all. A server that comes back without its data splits as well:
// whoever asks it first gets a lock that a degraded lease has here. Lease.Degraded
// tells the holder, and such a lease has no fence, so a resource that checks fences
// can refuse it.
//
// A degraded lease is not renewed: it ends by its TTL, unless Extend moves its end.
// When Redis is back it is promoted before anything else of this process goes there:
// the same Lease then is one in Redis, with a fence, renewal, and Degraded false. Where
// another has the lock in Redis by then, the two were split: the lease ends, with a
// cause that matches client.ErrLost, and the conflict is counted and logged. Leases
// that Redis had granted before the outage never become degraded ones: they keep their
// deadline, and their next renewal confirms them or finds them lost.
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
	// MaxDuration bounds degraded mode, from the moment at which the breaker opened,
	// the quarantine included: after it a call fails with a *BoundError, until Redis
	// is back. Leases granted by then live on to their ends. It must be above the
	// quarantine. Default 0: no bound.
	MaxDuration time.Duration
	// MaxLeases bounds how many degraded leases of the class this process has at a
	// time; beyond them a call fails with a *BoundError. Default 0: no bound.
	MaxLeases int
	// HostWide, if it is set, is a directory for lock files, by which all processes of
	// this host that name the same one exclude each other. A file is locked (flock)
	// for every lease of the class, degraded or not, after the gate and before Redis,
	// and until the lease ends: so the exclusion holds over the change as well, and a
	// process that crashes frees it. Set it in all processes of the host, or in none.
	//
	// The directory is made with mode 0700, and must be accessible to its owner alone,
	// on a local file system. A file is named by a hash, holds nothing, and goes with
	// the lease. Those who wait for one look every few milliseconds, in no order: in
	// between processes of a host Acquire is no queue any more. WithOwner is refused
	// with client.ErrInvalid, since an owner could not enter from another process.
	HostWide string
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

// check returns what is wrong with l.
func (l Local) check() error {
	switch {
	case l.MaxTTL < time.Millisecond:
		return fmt.Errorf("a Local needs a MaxTTL of at least 1ms, has %v", l.MaxTTL)
	case l.MaxDuration < 0 || l.MaxDuration > 0 && l.MaxDuration <= l.quarantine():
		return fmt.Errorf("a MaxDuration of %v leaves nothing after the quarantine of %v", l.MaxDuration, l.quarantine())
	case l.MaxLeases < 0:
		return fmt.Errorf("MaxLeases must not be negative, is %d", l.MaxLeases)
	}
	return nil
}

// Policies gives each class of locks its Policy.
type Policies struct {
	// Default is that of the classes that Classes does not name. Default FailClosed.
	Default Policy
	// Classes maps a class (see client.WithClass) to its policy.
	Classes map[string]Policy
	// Drill, if it is set, can force the classes that are Local into degraded mode.
	Drill *Drill
}

// local is a Local with what belongs to it.
type local struct {
	Local
	files *hostFiles // nil where it is not HostWide
}

// locals returns the classes that have a policy, and the default; nil stands for
// FailClosed.
func (p Policies) locals() (classes map[string]*local, byDefault *local, err error) {
	if p.Default != nil {
		if byDefault, err = localOf(p.Default); err != nil {
			return nil, nil, invalid("default policy: %w", err)
		}
	}
	classes = make(map[string]*local, len(p.Classes))
	for class, policy := range p.Classes {
		if classes[class], err = localOf(policy); err != nil {
			return nil, nil, invalid("policy of class %q: %w", class, err)
		}
	}
	return classes, byDefault, nil
}

func localOf(p Policy) (*local, error) {
	switch p := p.(type) {
	case FailClosed:
		return nil, nil
	case Local:
		if err := p.check(); err != nil {
			return nil, err
		}
		l := &local{Local: p}
		if p.HostWide == "" {
			return l, nil
		}
		var err error
		l.files, err = openHostFiles(p.HostWide)
		return l, err
	}
	return nil, fmt.Errorf("must be a FailClosed or a Local, is %T", p)
}
