package backoff

import (
	"math"
	"sync/atomic"
)

// token is what one retry costs, in the units in which a budget counts.
const token = 1_000_000

// budget bounds the retries of all calls together: each call puts a part of a
// token in, each retry takes a whole one out. While Redis works the bucket is
// full; in an outage retries fall to that part of the calls. After the RetryBudget
// of Finagle (https://twitter.github.io/finagle/guide/Clients.html) and the retry
// throttling of gRPC (gRFC A6,
// https://github.com/grpc/proposal/blob/master/A6-client-retries.md).
type budget struct {
	tokens  atomic.Int64
	deposit int64
	burst   int64
}

func newBudget(ratio float64, burst int) *budget {
	b := &budget{deposit: int64(math.Round(ratio * token)), burst: int64(burst) * token}
	b.tokens.Store(b.burst)
	return b
}

func (b *budget) call() {
	for {
		have := b.tokens.Load()
		if have >= b.burst || b.tokens.CompareAndSwap(have, min(have+b.deposit, b.burst)) {
			return
		}
	}
}

// retry reports whether a retry is allowed, and pays for it.
func (b *budget) retry() bool {
	for {
		have := b.tokens.Load()
		if have < token {
			return false
		}
		if b.tokens.CompareAndSwap(have, have-token) {
			return true
		}
	}
}
