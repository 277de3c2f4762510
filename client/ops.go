package client

import (
	"context"
	"fmt"
	"time"
)

// Info is what Redis knows of a lock. What it says of a holder is said of the one
// whose lease lasts longest, where several hold the lock together.
type Info struct {
	Key         string
	Held        bool          // somebody holds it
	Resting     bool          // nobody holds it, but WithMinHold keeps it until TTL has passed
	Mode        Mode          // in which it is held
	Holder      string        // identity of the holder, or of the last one while resting
	Fence       uint64        // of the grant
	Since       time.Time     // of the grant, by the server's clock
	TTL         time.Duration // left
	Traceparent string        // of the acquire's span, unchecked; empty if it was not sampled
	Slots       int           // how many may hold it together, in SlotsMode
	Free        int           // slots that are free
	Holders     []Holder      // all of them, the one whose lease lasts longest first
	Waiting     int           // contenders in the queue in Redis: one per process and key, as a rule
}

// Holder is one of those who hold a lock.
type Holder struct {
	Identity    string
	Fence       uint64
	Since       time.Time     // of the grant, by the server's clock
	TTL         time.Duration // left
	Traceparent string        // of the acquire's span, unchecked; empty if it was not sampled
}

// Inspect tells who holds the lock on key. It writes nothing, so it disturbs
// neither holders nor waiters; what it tells may be over when it returns. A value
// at the key that is no holder record but has a TTL is reported as held by nobody
// known. Of the leases of one owner it tells the latest. It fails with
// ErrUnavailable, ErrRefused, ErrInvalid or ErrClosed.
func (c *Client) Inspect(ctx context.Context, key string) (Info, error) {
	v, err := c.operate(ctx, opInspect, key, inspectScript)
	if err != nil {
		return Info{}, err
	}
	list, _ := v.([]any)
	if len(list)%2 != 1 {
		return Info{}, &Error{Op: opInspect, Key: key, Err: errReply(v)}
	}
	info := Info{Key: key}
	waiting, _ := list[0].(int64)
	info.Waiting = int(waiting)
	for i := 1; i < len(list); i += 2 {
		left, _ := list[i].(int64)
		text, _ := list[i+1].(string)
		rec, _ := parseRecord(text)
		c.scheduler.amend(&rec)
		info.Resting, info.Mode, info.Slots = rec.resting, rec.mode, rec.slots
		info.Holders = append(info.Holders, Holder{rec.holder, rec.fence, rec.since,
			max(0, time.Duration(left)*time.Millisecond), rec.traceparent})
	}
	if len(info.Holders) > 0 {
		first := info.Holders[0]
		info.Holder, info.Fence, info.Since, info.TTL, info.Traceparent =
			first.Identity, first.Fence, first.Since, first.TTL, first.Traceparent
	}
	if info.Resting {
		info.Holders = nil
	}
	info.Held = len(info.Holders) > 0
	info.Free = max(0, info.Slots-len(info.Holders))
	return info, nil
}

// Break takes the lock on key from whoever holds it, for operators: the holder
// learns of it at its next renewal, by ErrLost, and the next in line gets in at
// once. A lock that nobody holds is no error. A value that is not a lock is left
// alone, with ErrRefused.
func (c *Client) Break(ctx context.Context, key string) error {
	_, err := c.operate(ctx, opBreak, key, breakScript)
	return err
}

// operate runs a script that takes the lock's keys and nothing else.
func (c *Client) operate(ctx context.Context, op, key string, script *script) (any, error) {
	fail := func(err error) (any, error) { return nil, &Error{Op: op, Key: key, Err: err} }
	if err := checkKey(ctx, key); err != nil {
		return fail(err)
	}
	if !c.begin() {
		return fail(ErrClosed)
	}
	defer c.calls.add(-1)
	if ctx.Err() != nil {
		return fail(fmt.Errorf("%w: nothing was sent: %w", ErrUnavailable, contextError(ctx)))
	}
	keys := lockKeys(nil, lockKey(c.prefix, key))
	v, left, err := c.eval(ctx, op, c.commandTimeout, nil, eval{script: script, keys: keys})
	if left {
		return fail(fmt.Errorf("%w: no answer in time: %w", ErrUnavailable, contextError(ctx)))
	}
	if err != nil {
		return fail(err)
	}
	return v, nil
}
