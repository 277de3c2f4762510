package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Close ends the Client. It refuses new calls and wakes those that wait, with
// ErrClosed, but lets Reentrant nest in leases that live; goes on renewing until all leases are released or ctx ends; then ends
// the contexts of the leases that are left, with ErrClosed, and leaves their keys
// to their TTL. It waits for releases and clean-up that go on in the background, as
// long as ctx allows, but no longer than three command timeouts: where Redis does
// not answer by then those keys go by their TTL as well. It never closes the redis
// client.
//
// Close fails when something was left, with the error of ctx if that was why. A second Close waits
// for the first and returns what that returned.
func (c *Client) Close(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	if !first {
		select {
		case <-c.ending:
			return c.endErr
		case <-ctx.Done():
			return &Error{Op: "close", Err: fmt.Errorf("another Close is under way: %w", context.Cause(ctx))}
		}
	}
	defer close(c.ending)
	c.close(&Error{Op: opAcquire, Err: ErrClosed})
	if err := c.shutDown(ctx); err != nil {
		c.endErr = &Error{Op: "close", Err: err}
	}
	return c.endErr
}

func (c *Client) shutDown(ctx context.Context) error {
	var errs []error
	c.calls.wait(ctx)
	select {
	case <-c.scheduler.empty():
	case <-ctx.Done():
	}
	if left := c.endAll(); left > 0 {
		errs = append(errs, fmt.Errorf("%d leases were not released; their keys go by their TTL: %w", left, context.Cause(ctx)))
	}
	errs = append(errs, waitFor(ctx, 3*c.commandTimeout,
		"releases or clean-up were not confirmed; those keys go by their TTL", &c.janitor.work))
	close(c.stopped)
	c.waiters.subscription.stop()
	for i := len(c.onClose) - 1; i >= 0; i-- {
		if err := c.onClose[i](ctx); err != nil {
			errs = append(errs, err)
		}
	}
	// What is left ends by itself, at the latest with the bound of its command or
	// the redis client's own time-out.
	errs = append(errs, waitFor(ctx, stuckGrace, "commands that Redis has not answered are still under way",
		&c.janitor.work, &c.waiters.work, &c.waiters.subscription.work, &c.scheduler.work, &c.scheduler.renewer.work, &c.dispatcher.work, &c.exec.running))
	return errors.Join(errs...)
}

// stuckGrace is how long Close waits for commands inside go-redis, whose own
// time-outs are longer than ours.
const stuckGrace = 10 * time.Second

// waitFor waits for all of work, until ctx ends and for at most bound.
func waitFor(ctx context.Context, bound time.Duration, otherwise string, work ...*tracker) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bound, &TimeoutError{Limit: "close timeout", After: bound})
	defer cancel()
	for _, t := range work {
		if !t.wait(ctx) {
			return fmt.Errorf("%s: %w", otherwise, context.Cause(ctx))
		}
	}
	return nil
}

// endAll ends the leases that are left.
func (c *Client) endAll() (left int) {
	for _, h := range c.scheduler.all() {
		if h.conclude(EndClosed, "", &Error{Op: "hold", Key: h.key, Err: ErrClosed}) {
			left++
		} else {
			c.scheduler.remove(h)
			h.finish(EndReleased, "", ErrReleased)
		}
		h.observers.drain()
	}
	return left
}

// pause waits for d; it is false when the Client has stopped.
func (c *Client) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.stopped:
		return false
	}
}
