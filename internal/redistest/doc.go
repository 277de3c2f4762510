// Package redistest gets a Redis for the tests of this module, and breaks it on
// demand. It is the only place that knows how to come by one:
//
//   - Start runs a real redis-server of the test's own, which can be frozen,
//     killed and restarted. Without a redis-server on PATH the test is skipped.
//   - NewProxy puts a TCP proxy that reads the protocol in front of a server. It
//     counts commands and round trips, and cuts, delays or loses them, down to
//     the reply alone.
//   - NewSim makes a simulated Redis that needs no socket, so it works inside a
//     testing/synctest bubble and follows the bubble's clock. It has a proxy too.
//
// What fails in here fails the test. As with testing.TB, whatever takes a TB or
// may fail the test is called from the test's own goroutine; the faults of a
// Proxy may be switched from any.
package redistest
