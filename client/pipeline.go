package client

import (
	"context"
	"sync/atomic"
	"time"
)

// worst is what the replies to the parts of one lease come to, as the redis client
// gave them: an error, or else the least of the standings.
func worst(replies []reply) (standing, error) {
	least := standingResting
	for _, r := range replies {
		if r.err != nil {
			return standingGone, r.err
		}
		s, err := standingOf(r.value)
		if err != nil {
			return standingGone, err
		}
		least = min(least, s)
	}
	return least, nil
}

// batch is the evals of many leases, of which each may have several parts.
type batch struct {
	evals []eval
	ends  []int // of each lease, in evals
}

func (b *batch) add(evals []eval) {
	b.evals = append(b.evals, evals...)
	b.ends = append(b.ends, len(b.evals))
}

// standing reads the replies to lease i; its error is ErrUnavailable or ErrRefused.
func (b *batch) standing(replies []reply, i int) (standing, error) {
	from := 0
	if i > 0 {
		from = b.ends[i-1]
	}
	s, err := worst(replies[from:b.ends[i]])
	if err != nil {
		_, err = classify(err)
	}
	return s, err
}

// pipeline runs evals in the background as one command, for at most bound, and
// calls end with a reply for each; where the bound passed all have its error. The
// command may outlive its bound: late, if there is one, gets what comes then.
func (c *Client) pipeline(op string, bound time.Duration, evals []eval, end, late func([]reply)) {
	var out atomic.Pointer[[]reply]
	c.exec.start(c.background(context.Background()), command{op: op, bound: bound, fn: func(ctx context.Context) error {
		replies := runAll(ctx, c.store.rdb, evals)
		if !out.CompareAndSwap(nil, &replies) && late != nil {
			late(replies)
		}
		return common(replies)
	}}, func(err error) {
		replies := make([]reply, len(evals))
		for i := range replies {
			replies[i].err = err
		}
		if !out.CompareAndSwap(nil, &replies) {
			replies = *out.Load()
		}
		end(replies)
	})
}

// common is the error of a pipeline as a whole: that of its first command, unless
// the server answered any.
func common(replies []reply) error {
	for _, r := range replies {
		if r.err == nil {
			return nil
		}
	}
	if len(replies) == 0 {
		return nil
	}
	return replies[0].err
}
