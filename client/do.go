package client

import (
	"context"
	"errors"
	"fmt"
)

// Do runs fn while it holds the lock on key, and releases it, also when fn panics.
// fn gets the lease's context and must stop when that ends. fn never runs without
// the lock.
//
// Do returns the error of the acquire, or that of fn. If the lease was lost while
// fn ran the error matches ErrLost as well (under errors.Is; fn's own is joined),
// so it is never nil after a loss. A release that Redis did not confirm is not an
// error of the work: it goes on in the background and is logged.
func (c *Client) Do(ctx context.Context, key string, fn func(ctx context.Context, l *Lease) error, opts ...AcquireOption) (err error) {
	if fn == nil {
		return &Error{Op: "do", Key: key, Err: invalid("the function is nil")}
	}
	lease, err := c.Acquire(ctx, key, opts...)
	if err != nil {
		return err
	}
	defer func() {
		lost := lossOf(lease.Context())
		release := lease.Release(ctx)
		switch {
		case lost != nil && !errors.Is(err, lost):
			err = errors.Join(err, lost)
		case errors.Is(release, ErrNotHeld):
			err = errors.Join(err, &Error{Op: "do", Key: key, Err: fmt.Errorf("%w: %s", ErrLost, release)})
		case release != nil:
			c.logger.Warn("holdfast: a release was not confirmed", "key", key, "error", release)
		}
	}()
	if lease.Context().Err() != nil {
		return &Error{Op: "do", Key: key, Err: fmt.Errorf("the lease ended before the work began: %w", context.Cause(lease.Context()))}
	}
	return fn(lease.Context(), lease)
}

// lossOf is the loss that ended a lease's context, nil if it lives or ended
// otherwise.
func lossOf(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrLost) || errors.Is(cause, ErrClosed) {
		return cause
	}
	return nil
}
