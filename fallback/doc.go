// Package fallback keeps an unavailable Redis from becoming an unavailable
// application: a circuit breaker in front of each attempt, and a degraded mode in
// which a class of locks that allows it goes on inside the process.
//
// # Breaker
//
// Breaker.Middleware is the layer around each attempt. It votes with the verdict
// of the command itself and not with the error of the call, so callers who left
// early neither open the breaker of a healthy server nor hide a dead one. A lock
// that is held is a success. The breaker opens on a ratio of failures within a
// window; while it is not closed a background prober writes a scratch key, and so
// closes it again even if nobody calls. Where it opens again soon after it closed,
// several probes in a row must pass.
//
// # Degraded mode
//
// Degrade is the layer between the process's gate and the retries. For a class
// whose policy is Local it answers an outage with a lease that excludes this
// process only, or with HostWide this host; for all others, which is the default, the
// call fails with client.ErrUnavailable. Such a lease says so (Lease.Degraded), has no
// fence and ends locally.
//
//	healthy      the breaker is closed
//	quarantine   it is open: nothing is granted yet, others may hold what Redis granted
//	degraded     leases are granted locally, within the bounds of the Local
//	probing      a probe has passed: calls wait
//	reconciling  the leases that live are brought into Redis, or end in a conflict
//	healthy      the breaker closes, and calls go to Redis
//
// If Redis goes away again while leases are being reconciled, it is degraded mode, with
// those leases, as before. A Drill plays all of this while Redis is there.
//
// Both are wired up in the function given to client.WithPipeline: Breaker.Attach
// there connects the breaker to the Client's commands, its Redis and its Close.
package fallback
