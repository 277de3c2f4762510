package contract

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/client"
)

var errWork = errors.New("the work failed")

func doHolds(w *world) {
	a, b := w.client(), w.client()
	for _, result := range []error{nil, errWork} {
		err := a.Do(w.ctx, "k", func(ctx context.Context, l *client.Lease) error {
			if ctx != l.Context() {
				w.Error("the work did not get the lease's context")
			}
			w.live(l)
			w.refused(b, "k")
			return result
		})
		if err != result {
			w.Errorf("%v became %v", result, err)
		}
		w.release(w.take(b, "k"))
	}
	held := w.take(b, "k", client.WithTTL(100*w.ttl))
	ctx, cancel := context.WithTimeout(w.ctx, w.ttl/10)
	defer cancel()
	err := a.Do(ctx, "k", func(context.Context, *client.Lease) error {
		w.Error("the work ran without the lock")
		return nil
	})
	w.fails(err, client.ErrNotAcquired, "k")
	w.release(held)
}

// doAfterALoss: Do never reports success, nor the work's error alone, when the
// lock was lost under the work.
func doAfterALoss(w *world) {
	c := w.client()
	for name, loss := range map[string]client.AcquireOption{"expired": client.WithoutRenewal(), "held too long": client.WithMaxHold(w.ttl / 3)} {
		for _, result := range []error{nil, errWork} {
			err := c.Do(w.ctx, "k", func(ctx context.Context, _ *client.Lease) error {
				<-ctx.Done()
				return result
			}, loss)
			if !errors.Is(err, client.ErrLost) || result != nil && !errors.Is(err, result) {
				w.Errorf("%s: the work returned %v, Do %v", name, result, err)
			}
			w.turnOf(c, "k")
		}
	}
}

func doPanics(w *world) {
	a, b := w.client(), w.client()
	func() {
		defer func() {
			if p := recover(); p != errWork {
				w.Errorf("recovered %v", p)
			}
		}()
		_ = a.Do(w.ctx, "k", func(context.Context, *client.Lease) error { panic(errWork) }, client.WithTTL(100*w.ttl))
	}()
	w.release(w.take(b, "k"))
}
