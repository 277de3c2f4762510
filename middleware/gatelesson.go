package middleware

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/client"
)

// failing tells whether the last thing known of Redis is that it failed.
func (g *gate) failing() bool { return g.leases == 0 && g.failure != nil }

// refusal is what one outside is told of why it is not inside.
func (g *gate) refusal(req client.Request) error {
	if g.failing() {
		var e *client.Error
		if errors.As(g.failure, &e) {
			return g.failure
		}
		return &client.Error{Op: "acquire", Key: req.Key, Err: g.failure}
	}
	return &client.Error{Op: "acquire", Key: req.Key, Err: heldBy(g.holder)}
}

// heldBy is what one outside learns of who is inside: call, or nobody who is known.
func heldBy(call *client.Call) *client.HeldError {
	if call != nil {
		if h := call.Holding(); h != nil {
			return h
		}
	}
	return &client.HeldError{Local: true}
}

// errSilent is what the others learn from one whose context ended before Redis had
// answered; that context is not theirs.
var errSilent = fmt.Errorf("%w: the last caller of this process got no answer", client.ErrUnavailable)

var (
	errUpgrade = fmt.Errorf("%w: the owner holds the lock shared inside this process: release that lease first, or take it exclusive from the start and downgrade it",
		client.ErrInvalid)
	errDowngrade = fmt.Errorf("%w: the owner holds the lock exclusively inside this process: downgrade that lease to share it", client.ErrInvalid)
)

// lesson is what the error of one who came back without a lease tells about Redis:
// that it failed, that it answered (nil), or nothing.
func lesson(err error) (failure error, learnt bool) {
	switch {
	case errors.Is(err, client.ErrNotAcquired), errors.Is(err, client.ErrRefused):
		return nil, true
	case !errors.Is(err, client.ErrUnavailable):
		return nil, false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return errSilent, true
	default:
		return err, true
	}
}
