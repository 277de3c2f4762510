// Package contender has the libraries that are compared, each in a file of its own
// behind one interface. To add one, implement Locks and add a Contender to All.
package contender

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/bench/internal/report"
)

// Locks takes locks by one library. It is safe for concurrent use.
type Locks interface {
	// Acquire waits until it has the lock on key, or ctx has ended: the wait and,
	// with some libraries, the lease. A ctx has no deadline, for some libraries
	// make that the end of the lease.
	Acquire(ctx context.Context, key string) (Lease, error)
	Close() error
}

// Lease is a lock that is held.
type Lease interface {
	// Release frees the lock. It fails if the lock was no longer held.
	Release(ctx context.Context) error
}

// Options are the same for all that are compared.
type Options struct {
	Addr string
	TTL  time.Duration

	// Renew keeps leases alive, every third of the TTL. Libraries that renew by
	// themselves do it without being told; for the others it is done as their users
	// do it, by a goroutine and a ticker for each lease.
	Renew bool
}

// Contender is one library, or one way to use it.
type Contender struct {
	Name string
	Kind report.Kind

	// Waits tells whether Acquire can wait for a holder.
	Waits bool

	// Sends are the names, in lower case, of the commands that the clients of this
	// library send besides scripts. Its scripts must not call these, for the server
	// counts both alike.
	Sends []string

	Open func(Options) (Locks, error)
}

// All returns what is compared, floors first.
func All() []Contender {
	return []Contender{Pooled, pipelined, bare, redsyncLocks, redislockLocks, rueidislockLocks, Holdfast("holdfast")}
}

var errLost = errors.New("the lock was no longer held")

// connect returns a go-redis client with default options.
func connect(addr string) *redis.Client { return redis.NewClient(&redis.Options{Addr: addr}) }

// held is nil if a script that reports how many keys it wrote wrote one.
func held(n any, err error) error {
	if err == nil && n != int64(1) {
		err = errLost
	}
	return err
}

func failed(key string, err error) error { return fmt.Errorf("lock on %s: %w", key, err) }
