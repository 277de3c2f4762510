package client

import "context"

// leaseContext is the context of a lease. It ends when the lease ends, and knows
// so as soon as the deadline has passed, even if no timer has run since: a
// process that was frozen must not find its lease alive when it wakes.
type leaseContext struct {
	context.Context // ended by hold.cancel, or by its parent
	hold            *hold
}

func (c *leaseContext) Err() error {
	c.settle()
	return c.Context.Err()
}

// settle ends a hold that is due for it. Where another goroutine has just ended it,
// that one ends the context next: nobody is told anything before.
func (c *leaseContext) settle() {
	c.hold.expire()
	if !c.hold.live() {
		<-c.Context.Done()
	}
}

// nesting is the key under which a lease's context holds the lease for Reentrant.
type nesting struct {
	client *Client
	key    string
	mode   Mode
}

// Value answers for the standard library's look-ups too, context.Cause among
// them, so the deadline is checked here as in Err.
func (c *leaseContext) Value(key any) any {
	if n, ok := key.(nesting); ok {
		if n.client == c.hold.client && c.hold.covers(n.key, n.mode) {
			return c.hold
		}
	} else {
		c.settle()
	}
	return c.Context.Value(key)
}
