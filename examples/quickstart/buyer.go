package main

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast"
)

// serve sells to one buyer and tells the parent how that went.
func (w *worker) serve(ctx context.Context, guard string, buyer int) {
	r, err := w.buy(ctx, guard, buyer)
	e := event{Kind: isServed, Buyer: buyer, Result: r}
	switch {
	case err == nil:
	case errors.Is(err, holdfast.ErrUnavailable):
		e.Result, e.Error = refused, err.Error()
	default:
		e.Result, e.Error = unsure, err.Error()
	}
	w.send(e)
}

func (w *worker) buy(ctx context.Context, guard string, buyer int) (result, error) {
	switch guard {
	case guardNone:
		return w.shop.reserve(ctx, buyer)
	case guardMutex:
		w.mutex.Lock()
		defer w.mutex.Unlock()
		return w.shop.reserve(ctx, buyer)
	default:
		return w.buyLocked(ctx, buyer)
	}
}

// buyLocked is what a service does: what needs the lock runs inside Do, on the
// lease's context.
func (w *worker) buyLocked(ctx context.Context, buyer int) (r result, err error) {
	ctx, span := w.tracer.Start(ctx, "buy", trace.WithAttributes(attribute.Int("buyer", buyer)))
	defer func() {
		span.SetAttributes(attribute.String("result", string(r)))
		span.End()
	}()
	err = w.locks.Do(ctx, "stock:42", func(ctx context.Context, _ *holdfast.Lease) (err error) {
		ctx, span := w.tracer.Start(ctx, "reserve")
		defer span.End()
		r, err = w.shop.reserve(ctx, buyer)
		return err
	}, holdfast.WithClass(classStock))
	return r, err
}
