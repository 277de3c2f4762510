package backoff

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/client"
)

// kind is what the error of an attempt means to those who may try again.
type kind uint8

const (
	foreign     kind = iota // no error of this library
	held                    // the lock is another's
	unavailable             // Redis failed: trying again may help
	final                   // trying again does not help
)

// shortCircuit is implemented by the error of an open breaker, which asked nobody.
type shortCircuit interface {
	error
	ShortCircuit() bool
}

func kindOf(err error) kind {
	switch {
	case errors.Is(err, client.ErrNotAcquired):
		return held
	case isOpen(err):
		return final
	case errors.Is(err, client.ErrUnavailable):
		return unavailable
	case errors.Is(err, client.ErrRefused), errors.Is(err, client.ErrInvalid), errors.Is(err, client.ErrClosed):
		return final
	default:
		return foreign
	}
}

func isOpen(err error) bool {
	s, ok := errors.AsType[shortCircuit](err)
	return ok && s.ShortCircuit()
}

// says reports whether ctx has ended and err says so.
func says(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}
