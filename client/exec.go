package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxStuck is how many commands that nobody waits for any more may be inside
	// go-redis before further acquires are refused.
	maxStuck = 256
	// settleGrace is how long a command that met its bound is given to say itself
	// why: waiting for a connection of an exhausted pool is no fault of the server.
	settleGrace = 20 * time.Millisecond
)

var (
	errCrowded   = errors.New("too many commands are still waiting for an answer")
	errHookPanic = errors.New("panic inside the redis client")
)

// executor runs commands under bounds of our own. go-redis does not bound a
// socket read by the context unless told to, and never notices a cancellation
// there, so each command runs in a goroutine that the caller can leave behind.
type executor struct {
	rdb      redis.UniversalClient
	onEnd    []func(Command)
	running  tracker
	stuck    atomic.Int64
	poolSize int // connections that the client may open, 0 if unknown
}

// command describes one run: fn, for at most bound after its start.
type command struct {
	op     string
	bound  time.Duration
	settle *settlement
	fn     func(context.Context) error
}

// run starts the command, detached from ctx, and returns when it has ended, its
// bound has passed, or ctx has ended. Then left is true: nobody will learn its
// outcome here, but it still runs to its end and its verdict counts. Else err is
// ErrUnavailable, ErrRefused or nil. What fn wrote may be read only after nil.
func (x *executor) run(ctx context.Context, c command) (left bool, err error) {
	c.settle.start()
	if c.op == opAcquire && x.stuck.Load() >= maxStuck {
		c.settle.end(Neutral)
		_, err := classify(errCrowded)
		return false, err
	}
	bounded, cancel := x.bounded(ctx, c.bound)
	r := &run{x: x, command: c, start: time.Now(), done: make(chan error, 1)}
	x.running.add(1)
	go func() {
		defer x.running.add(-1)
		defer cancel()
		r.done <- x.guard(bounded, c.fn)
		r.finished()
	}()
	select {
	case raw := <-r.done:
		return false, r.judge(raw)
	case <-bounded.Done():
		return false, r.bound(bounded)
	case <-ctx.Done():
		r.abandon()
		context.AfterFunc(bounded, func() { _ = r.bound(bounded) })
		return true, nil
	}
}

// start runs the command with nobody waiting: end gets its outcome, once, when it
// has ended or its bound has passed.
// end runs in the command's own goroutine, unless that hangs in go-redis.
func (x *executor) start(ctx context.Context, c command, end func(error)) {
	bounded, cancel := x.bounded(ctx, c.bound)
	r := &run{x: x, command: c, start: time.Now(), done: make(chan error, 1)}
	late := context.AfterFunc(bounded, func() { end(r.bound(bounded)) })
	x.running.add(1)
	go func() {
		defer x.running.add(-1)
		defer cancel()
		raw := x.guard(bounded, c.fn)
		if late() {
			end(r.judge(raw))
			return
		}
		r.done <- raw
		r.finished()
	}()
}

func (x *executor) bounded(ctx context.Context, bound time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.WithoutCancel(ctx), bound, &TimeoutError{Limit: "command timeout", After: bound})
}

// run is one command under way.
type run struct {
	command
	x     *executor
	start time.Time
	done  chan error
	state atomic.Int32
}

const (
	runWaited = iota
	runAbandoned
	runFinished
)

// abandon counts a command that nobody waits for any more as stuck, until it
// comes out of go-redis.
func (r *run) abandon() {
	if r.state.CompareAndSwap(runWaited, runAbandoned) {
		r.x.stuck.Add(1)
	}
}

func (r *run) finished() {
	if !r.state.CompareAndSwap(runWaited, runFinished) {
		r.x.stuck.Add(-1)
	}
}

// bound is the end of a command that met its bound, or was left before.
func (r *run) bound(ctx context.Context) error {
	grace := time.NewTimer(settleGrace)
	defer grace.Stop()
	select {
	case raw := <-r.done:
		return r.judge(raw)
	case <-grace.C:
		r.abandon()
		r.x.vote(r.op, r.start, r.settle, Faulty, false)
		return fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	}
}

func (r *run) judge(raw error) error { return r.x.judge(r.op, r.start, r.settle, raw) }

// judge classifies how a command ended, and votes.
func (x *executor) judge(op string, start time.Time, settle *settlement, raw error) error {
	var network *net.OpError
	if raw != nil && !errors.As(raw, &network) && x.exhausted() &&
		(errors.Is(raw, context.DeadlineExceeded) || errors.Is(raw, context.Canceled)) {
		raw = redis.ErrPoolTimeout
	}
	v, err := classify(raw)
	answered := raw == nil
	if !answered {
		var reply redis.Error
		answered = errors.As(raw, &reply)
	}
	x.vote(op, start, settle, v, answered)
	return err
}

func (x *executor) vote(op string, start time.Time, settle *settlement, v Verdict, answered bool) {
	end := Command{Op: op, Verdict: v, Answered: answered, Duration: time.Since(start)}
	for _, fn := range x.onEnd {
		fn(end)
	}
	settle.end(v)
}

// guard keeps a panic of a hook in the user's redis client from ending the process.
func (x *executor) guard(ctx context.Context, fn func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errHookPanic, p)
		}
	}()
	return fn(ctx)
}

// exhausted tells whether every connection of the pool is in use.
func (x *executor) exhausted() bool {
	if x.poolSize == 0 {
		return false
	}
	s := x.rdb.PoolStats()
	return s != nil && s.IdleConns == 0 && int(s.TotalConns) >= x.poolSize
}

func poolSize(rdb redis.UniversalClient) int {
	switch c := rdb.(type) {
	case *redis.Client:
		return c.Options().PoolSize
	case *redis.ClusterClient:
		return c.Options().PoolSize
	case *redis.Ring:
		return c.Options().PoolSize
	}
	return 0
}
