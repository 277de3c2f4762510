// Package telemetry shows what a lock does: one Telemetry holds the OpenTelemetry
// instruments and makes the layers that feed them. It uses the OpenTelemetry API
// alone; which SDK and exporter there are is the program's choice.
//
// Middleware is the outermost layer of a pipeline: it sees the whole wait, the
// calls that other layers refuse, and from the lease that comes back everything
// that happens to it. Attempts is a second layer, inside the breaker, which counts
// what really went to Redis. WatchBreaker adds the breaker itself. While neither
// metrics nor traces are collected each costs a few atomic reads and allocates
// nothing; a lease of such a time is not followed later.
//
// # Metrics
//
// Durations are in seconds, in explicit buckets. The scope is the module's path.
//
//	holdfast.acquire.duration     histogram        class outcome mode [error.type]   the wait, once per call
//	holdfast.attempts             counter          class result [wake]               each try
//	holdfast.hold.duration        histogram        class mode end_reason             at the end of a lease
//	holdfast.renewal.duration     histogram        class [error.type]                each renewal, and each Extend that worked
//	holdfast.renewal.headroom     histogram        class                             share of the TTL left when confirmed
//	holdfast.release.duration     histogram        class [error.type]                each release command
//	holdfast.lease.losses         counter          class reason                      from 0 for each class and reason
//	holdfast.degraded.reconciliations counter      class result                      from 0 for each class and result
//	holdfast.lease.count          up-down, async   class mode                        leases held now
//	holdfast.lease.age.max        gauge, async     class mode                        age of the oldest
//	holdfast.waiter.count         up-down, async   class                             acquires under way now
//	holdfast.waiter.age.max       gauge, async     class                             age of the oldest
//	holdfast.retry.suppressed     counter          class                             retries that the budget refused
//	holdfast.breaker.status       up-down, async   breaker state                     1 for the present state, 0 for the others
//	holdfast.breaker.transitions  counter          breaker to                        from 0 for each state
//	holdfast.degraded.time        counter, async   breaker                           time spent not closed
//
// Renewals and releases of a degraded lease send nothing and are not measured.
//
// # Attributes
//
// These are all attributes of metrics, in full, with all their values:
//
//	holdfast.class       as WithClass names it; the 65th and later ones become "_OTHER"
//	holdfast.outcome     acquired, contended, timeout, canceled, error, rejected
//	holdfast.mode        distributed, degraded
//	holdfast.result      granted, held, error (which includes unknown), short_circuited
//	holdfast.end_reason  released, expired, lost, conflict, max_hold, canceled, closed
//	holdfast.wake        handoff, poll, expiry, local: what gave the lock to one who waited
//	holdfast.reason      expired, taken, unreachable, conflict
//	holdfast.breaker     the breaker's name
//	holdfast.state       closed, open, half-open
//	holdfast.to          closed, open, half-open
//	error.type           as client.ErrorType names it, or panic; absent where the lock was
//	                     granted or merely held
//
// No metric ever carries a key, a token, an address or the text of an error.
//
// # Spans
//
// "acquire {class}" covers the wait, as a child of the caller's span. Contention and
// a time-out are no errors of the span; an outcome of error is. It carries, beside
// the attributes of holdfast.acquire.duration:
//
//	holdfast.wait              false for TryAcquire
//	holdfast.attempts          tries that reached the core of the pipeline
//	holdfast.short_circuits    tries that the breaker refused, if any
//	holdfast.queue.position    place at which it entered the queue in Redis, if it did
//	holdfast.wake              what gave it the lock, if it waited
//	holdfast.fence             fencing token of the lease, unless it is degraded
//	holdfast.degraded          where degraded mode decided: whether it granted the lease
//	holdfast.degraded.reason   why it did, or did not
//	holdfast.key               only with WithKeyAttribute
//	holdfast.holder.identity   who held the lock last, if anybody did; see client.WithIdentity
//	holdfast.holder.held_for   for how long, in seconds, when the wait ended
//	holdfast.holder.local      true if it was somebody of this process
//	holdfast.holder.resting    true if it was free, and kept by WithMinHold
//
// and a link to the acquire span of the first and of the last holder that it met,
// if those were sampled; the link has the attributes of the holder, and
// holdfast.blocker, "first" or "last". The holder's identity is one string; service
// and instance are what the holder's own span, at the other end of the link, tells.
// held_for compares the server's clock with the local one. What comes from Redis is
// not trusted: it makes a link, never a parent.
//
// A span of a time in which renewals fail has holdfast.renewal.failures, their number.
//
// "release {class}" covers a release, as a child of the span in its context.
// "renew {class}" exists only where renewals failed, one from the first failure until
// renewal works again or the lease ends, at most eight in the life of a lease and
// none where its acquire was not sampled; it is linked to the acquire. "hold {class}",
// from grant to end, is there with WithHoldSpans.
package telemetry
