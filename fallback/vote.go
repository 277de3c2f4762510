package fallback

import (
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// How a command ended, in the form in which gobreaker asks for it. A success is nil.
var (
	errFailed   = errors.New("failed")
	errExcluded = errors.New("excluded")
)

// settle votes with the end of a command that was admitted.
func (b *Breaker) settle(done func(error), v client.Verdict) {
	switch v {
	case client.Healthy:
		b.answered()
		if o := b.outage(); o != nil {
			b.leave(o, func(ok bool) { b.decide(done, ok) })
			return
		}
		done(nil)
	case client.Faulty:
		done(errFailed)
	default:
		done(errExcluded)
	}
	b.deliver()
}

// decide ends a trial that Redis has passed, once no degraded lease is left; or not.
func (b *Breaker) decide(done func(error), ok bool) {
	if ok {
		done(nil)
	} else {
		done(errFailed)
	}
	b.deliver()
}

// vote counts a command that needed no admission.
func (b *Breaker) vote(v client.Verdict) {
	if done, err := b.allow(); err == nil {
		b.settle(done, v)
	}
}

// observe takes the end of a command that the layer has not seen: a renewal, a
// release, a clean-up. They help to open the breaker. To close it is for attempts
// on trial and for probes, which write: a renewal passes on a server that is out
// of memory, and an old command that fails late says nothing of the server as it
// is now. A read that passed does not count at all, a replica serves it too.
func (b *Breaker) observe(c client.Command) {
	if c.Answered || c.Verdict == client.Healthy {
		b.answered()
		b.meet()
	}
	switch {
	case c.Op == "acquire": // settled by the layer
		return
	case c.Verdict == client.Neutral, b.State() != Closed, c.Op == "inspect" && c.Verdict == client.Healthy:
		return
	case time.Now().Add(-c.Duration).Before(b.Since()): // sent before the breaker closed
		return
	}
	b.vote(c.Verdict)
}

// outage is the one that goes on, nil while b is closed.
func (b *Breaker) outage() *outage {
	if o := b.last.Load(); o != nil && !o.isOver() {
		return o
	}
	return nil
}

func (b *Breaker) answered() {
	if o := b.outage(); o != nil {
		o.answered()
	}
}
