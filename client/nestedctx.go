package client

import "context"

// nestedContext is the context of a nested lease: that of its acquire, but for its
// end. It ends with ends.
type nestedContext struct {
	context.Context
	ends context.Context
}

func (c *nestedContext) Done() <-chan struct{} { return c.ends.Done() }

func (c *nestedContext) Err() error { return c.ends.Err() }

// Value answers from ends what the standard library asks of a context that can end:
// such a one answers that with itself.
func (c *nestedContext) Value(key any) any {
	if v := c.ends.Value(key); v == any(c.ends) {
		return v
	}
	return c.Context.Value(key)
}

// endOf returns what ends a handle that was acquired under ctx: the end of the hold
// or that of ctx. Most often ctx ends with the hold, and with nothing else. Where it
// has an end of its own, the handles of that end share what is needed for it, since
// they live until the hold ends and may be many.
func (h *hold) endOf(ctx context.Context) context.Context {
	done := ctx.Done()
	if done == nil || done == h.ctx.Done() {
		return h.ctx.Context
	}
	h.mu.Lock()
	ends := h.nested[done]
	h.mu.Unlock()
	if ends != nil {
		return ends
	}
	ends, cancel := context.WithCancelCause(ctx)
	h.mu.Lock()
	if other := h.nested[done]; other != nil {
		h.mu.Unlock()
		cancel(nil)
		return other
	}
	if h.nested == nil {
		h.nested = make(map[<-chan struct{}]context.Context)
	}
	h.nested[done], h.nested[ends.Done()] = ends, ends
	h.mu.Unlock()
	stop := context.AfterFunc(h.ctx.Context, func() { cancel(context.Cause(h.ctx.Context)) })
	context.AfterFunc(ends, func() {
		stop()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.nested, done)
		delete(h.nested, ends.Done())
	})
	return ends
}
