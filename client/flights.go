package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxFlights is how many round trips are under way at a time before commands begin
	// to share them.
	maxFlights = 4
	maxAboard  = 256 // commands in one
	// hesitation is how long a flight keeps others from beginning: nobody waits behind a
	// command that hangs, and a link that is slow takes more of them.
	hesitation = 50 * time.Millisecond
)

// errUnsent: the caller left while its command was still waiting to be sent.
var errUnsent = fmt.Errorf("%w: nothing was sent", ErrUnavailable)

// flights sends commands of one server so that they share round trips: as many as
// maxFlights go at once, each by itself; those that come while so many are under way
// go together as soon as one has returned. So one that is alone is as fast as it can
// be, and where there are many none waits longer than for one round trip. (Group
// commit, as databases do with their logs; D. DeWitt et al., 1984.)
type flights struct {
	client *Client

	mu     sync.Mutex
	queue  []*passenger
	brisk  int // flights under way that still keep others from beginning
	flying int // all that are under way
}

// passenger is one command.
type passenger struct {
	op     string
	eval   eval
	settle *settlement
	ctx    context.Context // for its values
	start  time.Time
	seen   func(reply) // gets the reply, if there is one, also when the caller has left
	sent   bool        // under flights.mu
	done   chan struct{}

	value any // after done
	err   error
}

// run sends a command and returns its reply, as executor.run does. Where left comes
// with errUnsent the command was not sent.
func (f *flights) run(ctx context.Context, p *passenger) (v any, left bool, err error) {
	p.settle.start()
	p.ctx, p.start, p.done = ctx, time.Now(), make(chan struct{})
	if !f.board(p) {
		p.settle.end(Neutral)
		_, err := classify(errCrowded)
		return nil, false, err
	}
	var tired <-chan time.Time
	if f.waits(p) {
		timer := time.NewTimer(f.client.commandTimeout + settleGrace)
		defer timer.Stop()
		tired = timer.C
	}
	for {
		select {
		case <-p.done:
			return p.value, false, p.err
		case <-tired:
			if f.leave(p) {
				_, err := classify(errCrowded)
				return nil, false, err
			}
			tired = nil // it is on its way, and has a bound of its own there
		case <-ctx.Done():
			if f.leave(p) {
				return nil, true, errUnsent
			}
			return nil, true, nil
		}
	}
}

func (f *flights) waits(p *passenger) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !p.sent
}

// leave takes p out of the queue. It is false where p is on its way already.
func (f *flights) leave(p *passenger) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.sent {
		return false
	}
	if i := slices.Index(f.queue, p); i >= 0 {
		f.queue = slices.Delete(f.queue, i, i+1)
	}
	p.settle.end(Neutral)
	return true
}

// board has p go at once, or with the next flight. It is false where too many hang.
func (f *flights) board(p *passenger) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.op == opAcquire && f.full() {
		return false
	}
	f.queue = append(f.queue, p)
	f.proceed()
	return true
}

// aboard takes those who wait, as many as go into one flight. Its caller holds f.mu.
func (f *flights) aboard() []*passenger {
	n := min(len(f.queue), maxAboard)
	aboard := f.queue[:n:n]
	if f.queue = f.queue[n:]; len(f.queue) == 0 {
		f.queue = nil
	}
	for _, p := range aboard {
		p.sent = true
	}
	return aboard
}

// slow has a flight that takes its time keep nobody else.
func (f *flights) slow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.brisk--
	f.proceed()
}

// proceed has those who wait begin, if that may be. Its caller holds f.mu.
func (f *flights) proceed() {
	if len(f.queue) > 0 && f.brisk < maxFlights && !f.full() {
		f.brisk++
		f.flying++
		f.client.exec.running.add(1)
		go f.fly(f.aboard())
	}
}

// full tells whether too many hang. Its caller holds f.mu.
func (f *flights) full() bool { return f.flying+int(f.client.exec.stuck.Load()) >= maxStuck }

// land ends a flight, and returns those who go on the next one with its goroutine, nil
// where nobody waits. brisk is false for one that was slow.
func (f *flights) land(brisk bool) []*passenger {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !brisk {
		f.brisk++ // for the next one
	}
	if len(f.queue) > 0 && f.brisk <= maxFlights {
		return f.aboard()
	}
	f.brisk--
	f.flying--
	return nil
}

// The states of a flight.
const (
	flightBrisk int32 = iota
	flightSlow
	flightOver
)

func (f *flights) fly(aboard []*passenger) {
	c := f.client
	defer c.exec.running.add(-1)
	for aboard != nil {
		ctx := context.WithoutCancel(aboard[0].ctx)
		if len(aboard) > 1 {
			ctx = c.background(context.Background()) // it has many parents
		}
		ctx, cancel := c.exec.bounded(ctx, c.commandTimeout)
		var state atomic.Int32
		watch := f.watch(ctx, aboard, &state)
		replies := f.send(ctx, aboard)
		watch.Stop()
		cancel()
		was := state.Swap(flightOver)
		if was == flightOver {
			c.exec.stuck.Add(-1)
			f.mu.Lock()
			f.proceed()
			f.mu.Unlock()
			for i, p := range aboard {
				p.tell(replies[i])
			}
			return
		}
		for i, p := range aboard {
			c.arrived(p, replies[i])
		}
		aboard = f.land(was == flightBrisk)
	}
}

// watch says when a flight is slow, and ends it at its bound though it may hang on.
func (f *flights) watch(ctx context.Context, aboard []*passenger, state *atomic.Int32) *time.Timer {
	bound := f.client.commandTimeout + settleGrace
	first := min(hesitation, bound)
	var watch *time.Timer
	armed := make(chan struct{})
	watch = time.AfterFunc(first, func() {
		<-armed
		if state.CompareAndSwap(flightBrisk, flightSlow) {
			f.slow()
			if first < bound {
				watch.Reset(bound - first)
				return
			}
		}
		if state.CompareAndSwap(flightSlow, flightOver) {
			f.giveUp(aboard, context.Cause(ctx))
		}
	})
	close(armed)
	return watch
}

// send runs the commands of one flight.
func (f *flights) send(ctx context.Context, aboard []*passenger) []reply {
	c := f.client
	evals := make([]eval, len(aboard))
	for i, p := range aboard {
		evals[i] = p.eval
	}
	replies := make([]reply, len(aboard))
	err := c.exec.guard(ctx, func(ctx context.Context) error {
		if len(evals) > 1 {
			copy(replies, runAll(ctx, c.store.rdb, evals))
			return nil
		}
		replies[0].value, replies[0].err = evals[0].run(ctx, c.store.rdb)
		return nil
	})
	if err != nil {
		for i := range replies {
			replies[i].err = err
		}
	}
	return replies
}

// tell hands a reply on to who wants it in any case.
func (p *passenger) tell(r reply) {
	if p.seen != nil && r.err == nil {
		p.seen(r)
	}
}

func (c *Client) arrived(p *passenger, r reply) {
	p.tell(r)
	p.value = r.value
	p.err = c.exec.judge(p.op, p.start, p.settle, r.err)
	close(p.done)
}

// giveUp ends a flight that met its bound, and hangs on.
func (f *flights) giveUp(aboard []*passenger, cause error) {
	f.client.exec.stuck.Add(1)
	f.mu.Lock()
	f.flying--
	f.proceed()
	f.mu.Unlock()
	for _, p := range aboard {
		p.err = fmt.Errorf("%w: %w", ErrUnavailable, cause)
		f.client.exec.vote(p.op, p.start, p.settle, Faulty, false)
		close(p.done)
	}
}

// WithoutSharedRoundTrips sends each command by itself. Default: on one server
// (*redis.Client) those that come while four are under way share the next round trip,
// as a pipeline. (In a Cluster one node that hangs would hold up the commands for the
// others.)
func WithoutSharedRoundTrips() Option {
	return clientOption(func(c *config) error {
		c.noSharing = true
		return nil
	})
}
