package client

import (
	"context"
	"errors"
	"fmt"
)

// contextError is the error of a context that has ended, with its cause. The cause
// may be one of our own sentinels, if the context is that of another lease: then
// only its text is kept, since a failure matches one sentinel and that one tells
// of this lock.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case ours(cause):
		return fmt.Errorf("%w (%s)", err, plain(cause))
	case errors.Is(cause, err), errors.As(cause, new(*TimeoutError)):
		return cause
	}
	return fmt.Errorf("%w (%w)", err, cause)
}

func ours(err error) bool {
	for _, s := range []error{ErrNotAcquired, ErrNotHeld, ErrLost, ErrReleased, ErrUnavailable, ErrRefused, ErrClosed, ErrInvalid} {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}
