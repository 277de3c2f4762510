// Package leaktest is for the TestMain of packages whose tests kill servers. It is
// apart from redistest so that who uses that does not need goleak.
package leaktest

import (
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package, and fails if they leave goroutines. It
// overlooks the one by which a go-redis client watches a server that refused its
// connections: it may take a second to see that its client was closed, longer than
// goleak waits.
func Main(m *testing.M) { goleak.VerifyTestMain(m, watcher) }

var watcher = goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
