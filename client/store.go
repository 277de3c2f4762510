package client

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Names of the commands, in Command.Op.
const (
	opAcquire   = "acquire"
	opPoll      = "poll"
	opExtend    = "extend"
	opRenew     = "renew"
	opRelease   = "release"
	opCleanup   = "cleanup"
	opInspect   = "inspect"
	opBreak     = "break"
	opDowngrade = "downgrade"
	opPromote   = "promote"
)

// tombstoneLife is how long a withdrawn token is refused. It outlasts what a
// frozen server may still have in its buffers when it wakes.
const tombstoneLife = time.Minute

// store speaks to Redis: it makes the scripts' runs and reads their replies.
type store struct {
	rdb     redis.UniversalClient
	prefix  string
	holder  string // encoded identity
	channel string // on which hand-offs are told
	seen    atomic.Uint64
}

// oneServer tells whether one server has all the keys.
func (s *store) oneServer() bool {
	_, one := s.rdb.(*redis.Client)
	return one
}

type acquireResult struct {
	granted   bool
	fence     uint64 // of the grant, or the last one when it was refused
	withdrawn bool
	held      *HeldError
	holder    uint64 // fence of who holds it
	token     string // of who holds it
	ticket    string // place in the queue, for one who waits there
	which     int    // the lock that is held, from 0
}

func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// modeField is a mode as the scripts write it.
func modeField(m Mode, slots int) string {
	switch m {
	case SharedMode:
		return "s"
	case SlotsMode:
		return "n" + strconv.Itoa(slots)
	}
	return "x"
}

// acquireEval is one run of the acquire script; w is nil for one that does not queue.
func (s *store) acquireEval(id leaseID, req Request, traceparent string, w *waiter) eval {
	flags := ""
	if req.Barge {
		flags = "b"
	}
	args := []any{id.token, millis(max(req.TTL, req.MinHold)), s.holder, field(traceparent), s.seen.Load(),
		ownerField(req.Owner), millis(req.MinHold), modeField(req.Mode, req.Slots), flags}
	if w != nil {
		args[len(args)-1] = flags + "q"
		args = append(args, w.id, s.channel, w.place())
	}
	return eval{script: acquireScript, once: true, keys: id.keysAndTombstones(), args: args}
}

// parts divides a lease into what one script may take: all of it on one server, each
// lock alone where they may be on several.
func (s *store) parts(id leaseID) []leaseID {
	if s.oneServer() || len(id.locks) == 1 {
		return []leaseID{id}
	}
	parts := make([]leaseID, len(id.locks))
	for i := range parts {
		parts[i] = leaseID{id.locks[i : i+1], id.token}
	}
	return parts
}

func (s *store) extendEvals(id leaseID, ttl time.Duration) []eval {
	parts := s.parts(id)
	evals := make([]eval, len(parts))
	for i, part := range parts {
		evals[i] = eval{script: extendScript, keys: part.keys(), args: []any{part.token, millis(ttl)}}
	}
	return evals
}

func (s *store) releaseEvals(id leaseID, minHold, tombstone time.Duration) []eval {
	parts := s.parts(id)
	evals := make([]eval, len(parts))
	for i, part := range parts {
		evals[i] = eval{script: releaseScript, once: true, keys: part.keysAndTombstones(),
			args: []any{part.token, millis(minHold), millis(tombstone)}}
	}
	return evals
}

func (s *store) downgradeEvals(id leaseID) []eval {
	parts := s.parts(id)
	evals := make([]eval, len(parts))
	for i, part := range parts {
		evals[i] = eval{script: downgradeScript, keys: part.keys(), args: []any{part.token}}
	}
	return evals
}

// errReply is a reply that no script of ours gives: a proxy or a server that
// changes replies.
func errReply(v any) error {
	return fmt.Errorf("%w: unexpected reply %v", ErrRefused, v)
}

func (s *store) acquired(v any) (acquireResult, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return acquireResult{}, errReply(v)
	}
	switch code, _ := list[0].(int64); {
	case code == 1 && len(list) == 2:
		text, _ := list[1].(string)
		fence, err := strconv.ParseUint(text, 10, 53)
		if err != nil {
			return acquireResult{}, errReply(v)
		}
		s.saw(fence)
		return acquireResult{granted: true, fence: fence}, nil
	case code == 0 && len(list) == 7:
		left, _ := list[1].(int64)
		text, _ := list[2].(string)
		place, _ := list[3].(int64)
		r := acquireResult{held: heldError(text, time.Duration(left)*time.Millisecond)}
		r.held.Position = int(place)
		r.ticket, _ = list[4].(string)
		last, _ := list[5].(string)
		r.fence, _ = strconv.ParseUint(last, 10, 53)
		rec, _ := parseRecord(text)
		r.holder, r.token = rec.fence, rec.token
		which, _ := list[6].(int64)
		r.which = int(which) - 1
		return r, nil
	case code == -1:
		return acquireResult{withdrawn: true}, nil
	}
	return acquireResult{}, errReply(v)
}

// saw keeps the highest fence, below which no later grant to this client may be.
func (s *store) saw(fence uint64) {
	for {
		old := s.seen.Load()
		if fence <= old || s.seen.CompareAndSwap(old, fence) {
			return
		}
	}
}

// standing is what extend and release reply of a lease.
type standing int64

const (
	standingTaken   standing = -1 // the lock is another's
	standingGone    standing = 0
	standingOurs    standing = 1 // extended, or released
	standingResting standing = 2 // released, and resting for the minimum hold
)

func standingOf(v any) (standing, error) {
	n, ok := v.(int64)
	if !ok || n < int64(standingTaken) || n > int64(standingResting) {
		return standingGone, errReply(v)
	}
	return standing(n), nil
}

// eval runs e and returns its reply. Where left comes with errUnsent nothing was sent.
func (c *Client) eval(ctx context.Context, op string, bound time.Duration, settle *settlement, e eval) (v any, left bool, err error) {
	if c.flights != nil {
		return c.flights.run(ctx, &passenger{op: op, eval: e, settle: settle})
	}
	out := new(any)
	left, err = c.exec.run(ctx, command{op: op, bound: bound, settle: settle, fn: func(ctx context.Context) error {
		v, err := e.run(ctx, c.store.rdb)
		*out = v
		return err
	}})
	if left || err != nil {
		return nil, left, err
	}
	return *out, false, nil
}

// standing runs evals, the parts of one lease, as a command of their own and returns
// the worst of what they reply. seen, if there is one, gets that also when the caller
// has left.
func (c *Client) standing(ctx context.Context, op string, evals []eval, seen func(standing)) (s standing, left bool, err error) {
	if c.flights != nil && len(evals) == 1 {
		p := &passenger{op: op, eval: evals[0]}
		if seen != nil {
			p.seen = func(r reply) {
				if s, err := standingOf(r.value); err == nil {
					seen(s)
				}
			}
		}
		v, left, err := c.flights.run(ctx, p)
		if left || err != nil {
			return standingGone, left, err
		}
		s, err := standingOf(v)
		return s, false, err
	}
	out := new(standing)
	left, err = c.exec.run(ctx, command{op: op, bound: c.commandTimeout, fn: func(ctx context.Context) error {
		var replies []reply
		if len(evals) == 1 {
			v, err := evals[0].run(ctx, c.store.rdb)
			replies = []reply{{v, err}}
		} else {
			replies = runAll(ctx, c.store.rdb, evals)
		}
		s, err := worst(replies)
		if err != nil {
			return err
		}
		*out = s
		if seen != nil {
			seen(s)
		}
		return nil
	}})
	if left || err != nil {
		return standingGone, left, err
	}
	return *out, false, nil
}
