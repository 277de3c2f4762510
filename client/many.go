package client

import (
	"context"
	"slices"
	"strings"
)

// AcquireAll takes the locks on all of keys, or none: one lease, with one token, one
// fence that is higher than any before of each key (on a Cluster as far as the clocks
// of its nodes agree), one renewal and one Release, that ends for all of them when it
// ends for one. Lease.Keys has the keys.
//
// It takes them in sorted order, and waits for one that is held while it has those
// before, so callers never wait for each other in a circle, and never for ever: those
// who wait for a key that it has meanwhile wait as behind a holder. Where one server
// has all the keys it takes one command. A key that is given twice counts once; at most
// 128 may be given. Reentrant and WithOwner are for one key: with them it fails with
// ErrInvalid.
func (c *Client) AcquireAll(ctx context.Context, keys []string, opts ...AcquireOption) (*Lease, error) {
	name := strings.Join(keys, ", ")
	fail := func(err error) (*Lease, error) { return nil, &Error{Op: opAcquire, Key: name, Err: err} }
	if len(keys) == 0 || len(keys) > maxKeys {
		return fail(invalid("there must be 1 to %d keys, are %d", maxKeys, len(keys)))
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(keys)))
	o := c.defaults
	for _, key := range sorted {
		if err := checkKey(ctx, key); err != nil {
			return fail(err)
		}
	}
	if err := o.apply(opts); err != nil {
		return fail(err)
	}
	if o.reentrant || o.owner != "" {
		return fail(invalid("Reentrant and WithOwner are for one key"))
	}
	if len(sorted) == 1 {
		return c.enter(ctx, sorted[0], nil, true, o)
	}
	return c.enter(ctx, strings.Join(sorted, ", "), sorted, true, o)
}

// ask runs the acquire script: once on one server, and else for one lock after the
// other, up to the first that is held.
func (c *Client) ask(ctx context.Context, req Request, id leaseID, traceparent string, w *waiter) (all acquireResult, left bool, err error) {
	parts := c.store.parts(id)
	for i, part := range parts {
		if len(parts) > 1 {
			req.call.took(i + 1) // it may, whatever the answer
		}
		v, left, err := c.eval(ctx, opAcquire, c.commandTimeout, req.settle, c.store.acquireEval(part, req, traceparent, w))
		if left || err != nil {
			return all, left, err
		}
		result, err := c.store.acquired(v)
		if err != nil {
			return all, false, err
		}
		if !result.granted {
			result.which += i
			left, err := c.letGo(ctx, req.call, leaseID{id.locks[i:], id.token})
			return result, left, err
		}
		result.fence = max(result.fence, all.fence)
		all = result
	}
	return all, false, nil
}

// letGo releases those of rest, which begins with a lock that is held, that an earlier
// attempt of the call took: nobody may wait for a lock while it has one that comes
// after it.
func (c *Client) letGo(ctx context.Context, call *Call, rest leaseID) (left bool, err error) {
	taken := call.tookAll() - (len(call.locks) - len(rest.locks))
	if taken <= 1 {
		return false, nil
	}
	behind := leaseID{rest.locks[1:taken], rest.token}
	_, left, err = c.standing(ctx, opRelease, c.store.releaseEvals(behind, 0, 0), nil)
	return left, err
}
