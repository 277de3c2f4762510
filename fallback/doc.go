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
// closes it again even if nobody calls.
//
// # Degraded mode
//
// Degrade is the layer between the process's gate and the retries. For a class
// whose policy is Local it answers an outage with a lease that excludes this
// process only; for all others, which is the default, the call fails with
// client.ErrUnavailable. Such a lease says so (Lease.Degraded), has no fence and
// ends locally.
//
// Both are wired up in the function given to client.WithPipeline: Breaker.Attach
// there connects the breaker to the Client's commands, its Redis and its Close.
package fallback
