// Package client is the core of holdfast: a Client that takes locks on Redis,
// the Lease that it returns, and the seam, Middleware, by which other packages
// wrap every acquire. It imports nothing of OpenTelemetry and none of the other
// packages of this module.
//
// A lock is one key in Redis with a TTL, written and removed by Lua scripts that
// act on a random token only. Each logical acquire has one token, kept over
// retries, and every script is idempotent per token: a reply that is lost, and a
// command that is sent again, change neither outcome nor count. An attempt has
// three outcomes: granted, held by another, and unknown. After a call that ends
// without a lease while an outcome is unknown, its token is taken out in the
// background and a tombstone keeps it from getting in later.
//
// Those who wait stand in a queue in Redis. The script that releases makes the first of
// them the owner, for three seconds at first, and tells it by a message; what a message
// did not tell a poll finds, one for all waiters of a Client and at least once a second,
// which is also how they keep their places. Several may hold a lock together: the leases
// of one owner (WithOwner), those that Shared, and those with Slots. The protocol is in
// lua/PROTOCOL.md, and checked there by a model over all interleavings.
//
// A lease ends for its holder before it ends in Redis: its deadline counts from
// the instant before the command that won it was sent, by the earlier of the
// monotonic and the wall clock, less an allowance for drift. No wall clock of a
// client goes into Redis.
package client
