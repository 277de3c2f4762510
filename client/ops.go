package client

import (
	"context"
	"fmt"
	"time"
)

// Info is what Redis knows of a lock.
type Info struct {
	Key         string
	Held        bool          // somebody holds it
	Resting     bool          // nobody holds it, but WithMinHold keeps it until TTL has passed
	Holder      string        // identity of the holder, or of the last one while resting
	Fence       uint64        // of the grant
	Since       time.Time     // of the grant, by the server's clock
	TTL         time.Duration // left
	Traceparent string        // of the acquire's span, unchecked; empty if it was not sampled
}

// Inspect tells who holds the lock on key. It writes nothing, so it disturbs
// neither holders nor waiters; what it tells may be over when it returns. A value
// at the key that is no holder record but has a TTL is reported as held by nobody
// known. It fails with ErrUnavailable, ErrRefused, ErrInvalid or ErrClosed.
func (c *Client) Inspect(ctx context.Context, key string) (Info, error) {
	v, err := c.operate(ctx, opInspect, key, inspectScript)
	if err != nil {
		return Info{}, err
	}
	list, _ := v.([]any)
	if len(list) != 2 {
		return Info{}, &Error{Op: opInspect, Key: key, Err: errReply(v)}
	}
	info := Info{Key: key}
	value, held := list[0].(string)
	if !held {
		return info, nil
	}
	left, _ := list[1].(int64)
	info.TTL = max(0, time.Duration(left)*time.Millisecond)
	rec, _ := parseRecord(value)
	info.Held, info.Resting = !rec.resting, rec.resting
	info.Holder, info.Fence, info.Since, info.Traceparent = rec.holder, rec.fence, rec.since, rec.traceparent
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
	lock := lockKey(c.prefix, key)
	v, left, err := c.eval(ctx, op, c.commandTimeout, nil, eval{script: script, keys: []string{lock, ownersKey(lock)}})
	if left {
		return fail(fmt.Errorf("%w: no answer in time: %w", ErrUnavailable, contextError(ctx)))
	}
	if err != nil {
		return fail(err)
	}
	return v, nil
}
