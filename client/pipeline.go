package client

import (
	"context"
	"sync/atomic"
	"time"
)

// standing reads a reply of extend or release; its error is ErrUnavailable or
// ErrRefused.
func (r reply) standing() (standing, error) {
	if r.err != nil {
		_, err := classify(r.err)
		return standingGone, err
	}
	return standingOf(r.value)
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
