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
// calls end with a reply for each; where the bound passed all have its error.
func (c *Client) pipeline(op string, bound time.Duration, evals []eval, end func([]reply)) {
	var out atomic.Pointer[[]reply] // the command may outlive its bound
	c.exec.start(c.background(context.Background()), command{op: op, bound: bound, fn: func(ctx context.Context) error {
		replies := runAll(ctx, c.store.rdb, evals)
		out.Store(&replies)
		return common(replies)
	}}, func(err error) {
		replies := out.Load()
		if replies == nil {
			failed := make([]reply, len(evals))
			for i := range failed {
				failed[i].err = err
			}
			replies = &failed
		}
		end(*replies)
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
