// Package holdfast takes distributed locks on Redis, through a pipeline that can be
// seen through and taken apart.
//
//	locks, err := holdfast.New(rdb)
//	lease, err := locks.Acquire(ctx, "stock:42")
//	defer lease.Release(ctx)
//	err = reserve(lease.Context(), 42)
//
// Work under the lock runs on Lease.Context: it is done when the lease ends, before
// Redis can let another in, and context.Cause says why. Client.Do does all of this
// in one call.
//
// # The pipeline
//
// Every acquire passes these layers, the outermost first:
//
//	telemetry        the span, the wait time, who waits
//	log              a line when a lease is lost, or its renewal fails
//	(yours)          WithMiddleware
//	timeout          WithWaitTimeout; bounds the wait, never the lease
//	gate             the FIFO queue of this process: one contender per key goes on
//	degrade          WithFallback: what becomes of a class while Redis is unavailable
//	retry            waits for a holder; retries a failing Redis, within a budget
//	breaker          stops asking a Redis that does not answer
//	attempts         counts what goes on
//	(yours)          WithAttemptMiddleware
//	attempt timeout  WithAttemptTimeout
//	redis            one run of the acquire script
//
// Client.Pipeline prints the order; Replace puts another layer in the place of one.
//
// # What a lock promises
//
// One holder at a time, as long as Redis keeps its data and its clock keeps going
// forward; no lock outlives a crash by more than its TTL; nobody releases or extends
// the lock of another. A fail-over may lose a lock that was just taken, since
// replication is asynchronous, and no lease can stop a process that is frozen from
// writing late: let the resource check Lease.Fence, which rises with every grant.
package holdfast
