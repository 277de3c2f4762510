// Package contract says what every store must do, as one suite of tests: whoever
// gives leases, a Redis, a simulation of one, or the inside of this process,
// passes the same contracts. They see a store through *client.Client alone.
package contract

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// Backend is a kind of store.
type Backend struct {
	// Open makes a store, or a space of keys, that no other contract uses. What it
	// starts ends by the Cleanup of t.
	Open func(t *testing.T) Store
	// TTL is that of the leases. All waits of the contracts are multiples of it, so
	// it has to be long beside a round trip on a busy machine.
	TTL time.Duration
	// Virtual has each contract run in a testing/synctest bubble, where waits take
	// no time. Without it they run in parallel.
	Virtual bool
	// Local says that leases are degraded ones: they have no fence and no renewal,
	// owners are not known elsewhere, and no Client can ask who holds a lock.
	Local bool
}

// Store is one store, as a contract uses it.
type Store struct {
	// Client makes a Client that contends with the others as one of another process
	// does. It must not log to the process's default logger.
	Client func(opts ...client.Option) (*client.Client, error)
	// Disturb, where there is one, makes the store misbehave, again and again, until
	// ctx ends; the store is well when it returns. No lock may be held twice for it.
	Disturb func(ctx context.Context)
	// Delay, where there is one, has each command and each reply arrive d later; 0
	// ends that.
	Delay func(d time.Duration)
}

// Run checks backend against every contract, each a subtest.
func Run(t *testing.T, backend Backend) {
	for _, c := range contracts {
		t.Run(c.name, func(t *testing.T) {
			if c.remote && backend.Local {
				t.Skip("not for a store inside the process")
			}
			if backend.Virtual {
				synctest.Test(t, func(t *testing.T) { c.check(newWorld(t, backend)) })
				return
			}
			t.Parallel()
			c.check(newWorld(t, backend))
		})
	}
}

var contracts = []struct {
	name   string
	check  func(w *world)
	remote bool // asks for more than a store inside the process has
}{
	{name: "Exclusion/one at a time", check: oneAtATime},
	{name: "Exclusion/a held lock is refused and left alone", check: heldIsRefused},
	{name: "Exclusion/keys are independent", check: keysAreIndependent},
	{name: "Exclusion/history", check: history},
	{name: "Exclusion/history under faults", check: historyUnderFaults, remote: true},

	{name: "Release/frees", check: releaseFrees},
	{name: "Release/is idempotent", check: releaseIsIdempotent},
	{name: "Release/from another goroutine", check: releaseFromElsewhere},
	{name: "Release/too late harms nobody", check: lateRelease},
	{name: "Release/with a dead context frees", check: releaseWithDeadContext},

	{name: "Expiry/the lease ends before another is in", check: expiry},
	{name: "Expiry/the next lease is fresh after a long wait", check: freshAfterWait},
	{name: "Expiry/counts from before the command was sent", check: lateReply, remote: true},

	{name: "Extend/moves the end", check: extendMovesTheEnd},
	{name: "Extend/shortens nothing", check: extendShortensNothing},
	{name: "Extend/of an ended lease", check: extendAfterTheEnd},
	{name: "Extend/races Release", check: extendRacesRelease},

	{name: "Renewal/keeps the lease", check: renewalKeeps, remote: true},
	{name: "Renewal/stops with the release", check: renewalStops, remote: true},
	{name: "Renewal/tells of a loss", check: renewalTells, remote: true},
	{name: "Renewal/of the next lease of a key", check: nextLeaseIsRenewed, remote: true},

	{name: "Limits/max hold", check: maxHold},
	{name: "Limits/max hold leaves the key to Release", check: maxHoldThenRelease},
	{name: "Limits/min hold", check: minHold},
	{name: "Limits/min hold is covered by the lease", check: minHoldCovers},
	{name: "Limits/min hold that has passed", check: minHoldPassed},

	{name: "Reentry/nests and counts", check: reentryCounts},
	{name: "Reentry/by its own context only", check: reentryByContextOnly},
	{name: "Reentry/ends as a whole", check: reentryEndsAsAWhole},
	{name: "Reentry/by owner", check: reentryByOwner, remote: true},

	{name: "Do/holds the lock meanwhile", check: doHolds},
	{name: "Do/is never nil after a loss", check: doAfterALoss},
	{name: "Do/releases after a panic", check: doPanics},

	{name: "Cancel/ends the lease", check: cancelEndsTheLease},
	{name: "Cancel/before the call", check: cancelBefore},
	{name: "Cancel/at the moment of success", check: cancelRaces},

	{name: "Events/end once and last", check: endOnce},
	{name: "Events/reach a late observer", check: lateObserver},
	{name: "Events/survive a panic", check: panickingObserver},

	{name: "Close/waits for the leases", check: closeWaits},
	{name: "Close/ends what is left", check: closeEndsTheRest},
	{name: "Close/races the calls", check: closeRaces},

	{name: "Fence/rises with every grant", check: fenceRises, remote: true},
	{name: "Fence/stays over Extend and re-entry", check: fenceStays, remote: true},
	{name: "Inspect/tells and changes nothing", check: inspect, remote: true},
	{name: "Break/lets the next one in", check: breaks, remote: true},
	{name: "Shared/readers together, a writer alone", check: sharedTogether, remote: true},
	{name: "Shared/each reader has its own expiry", check: sharedExpiry, remote: true},
	{name: "Shared/an upgrade is refused", check: upgrade, remote: true},
	{name: "Shared/a downgrade lets readers in", check: downgrade, remote: true},
	{name: "Shared/readers and writers", check: readersAndWriters, remote: true},

	{name: "Slots/at most so many", check: slotsLimit, remote: true},
	{name: "Slots/of one number", check: slotsOfOneNumber, remote: true},
	{name: "Slots/come back from the dead", check: slotsExpire, remote: true},
	{name: "Slots/under load", check: slotsUnderLoad, remote: true},

	{name: "Many/at once", check: manyAtOnce, remote: true},
	{name: "Many/or none", check: manyOrNone, remote: true},
	{name: "Many/end together", check: manyEndTogether, remote: true},
	{name: "Many/overlap", check: manyOverlap, remote: true},

	{name: "Input/is checked before anything is written", check: badInput},
}
