package client

import (
	"context"
	_ "embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/lock.lua
var lockLua string

//go:embed lua/acquire_fast.lua
var acquireFastLua string

//go:embed lua/acquire.lua
var acquireLua string

//go:embed lua/poll.lua
var pollLua string

//go:embed lua/extend_fast.lua
var extendFastLua string

//go:embed lua/extend.lua
var extendLua string

//go:embed lua/release_fast.lua
var releaseFastLua string

//go:embed lua/release.lua
var releaseLua string

//go:embed lua/downgrade.lua
var downgradeLua string

//go:embed lua/inspect.lua
var inspectLua string

//go:embed lua/break.lua
var breakLua string

// script is a Lua script and its digest, by which a server that has run it before
// knows it.
type script struct{ source, sha string }

// newScript makes one of a fast path, what all scripts share, and the body. A server
// runs what comes first anew each time, and the functions of the rest are dear beside
// a short script.
func newScript(fast, body string) *script {
	source := fast + lockLua + body
	return &script{source, redis.NewScript(source).Hash()}
}

var (
	acquireScript   = newScript(acquireFastLua, acquireLua)
	pollScript      = newScript("", pollLua)
	extendScript    = newScript(extendFastLua, extendLua)
	releaseScript   = newScript(releaseFastLua, releaseLua)
	downgradeScript = newScript("", downgradeLua)
	inspectScript   = newScript("", inspectLua)
	breakScript     = newScript("", breakLua)
)

// eval is one run of a script.
type eval struct {
	script *script
	keys   []string
	args   []any
	once   bool // never resent by go-redis: its first reply matters
}

// onceCmd is a command that go-redis does not resend after a network error. A
// release that was resent behind our back would find its own work done, which
// looks like a lease that was lost.
type onceCmd struct{ *redis.Cmd }

func (onceCmd) NoRetry() bool { return true }

func noScript(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") }

func (e eval) run(ctx context.Context, rdb redis.UniversalClient) (any, error) {
	v, err := e.send(ctx, rdb, "evalsha", e.script.sha).Result()
	if noScript(err) {
		v, err = e.send(ctx, rdb, "eval", e.script.source).Result()
	}
	return v, err
}

// send puts the run on its way, by the script's digest or by its source. In a
// pipeline the result is there after Exec.
func (e eval) send(ctx context.Context, to processor, name, script string) *redis.Cmd {
	args := make([]any, 0, 3+len(e.keys)+len(e.args))
	args = append(args, name, script, len(e.keys))
	for _, k := range e.keys {
		args = append(args, k)
	}
	cmd := redis.NewCmd(ctx, append(args, e.args...)...)
	cmd.SetFirstKeyPos(3)
	var sent redis.Cmder = cmd
	if e.once {
		sent = onceCmd{cmd}
	}
	if err := to.Process(ctx, sent); err != nil && cmd.Err() == nil {
		cmd.SetErr(err) // of a hook that kept the command from being sent
	}
	return cmd
}

type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// reply is the answer to one eval.
type reply struct {
	value any
	err   error
}

// runAll sends evals as one pipeline, and those whose script the server did not
// know as a second one.
func runAll(ctx context.Context, rdb redis.UniversalClient, evals []eval) []reply {
	replies := make([]reply, len(evals))
	pipe := rdb.Pipeline()
	cmds := make([]*redis.Cmd, len(evals))
	for i, e := range evals {
		cmds[i] = e.send(ctx, pipe, "evalsha", e.script.sha)
	}
	_, failed := pipe.Exec(ctx)
	var again []int
	for i, cmd := range cmds {
		replies[i].value, replies[i].err = cmd.Result()
		if noScript(replies[i].err) {
			again = append(again, i)
		}
	}
	if len(again) > 0 {
		// Also when the bound has passed: it is an answer that said so, and on a slow
		// link no later run would get further.
		ctx = context.WithoutCancel(ctx)
		for _, i := range again {
			cmds[i] = evals[i].send(ctx, pipe, "eval", evals[i].script.source)
		}
		_, failed = pipe.Exec(ctx)
		for _, i := range again {
			replies[i].value, replies[i].err = cmds[i].Result()
		}
	}
	// A hook that swallows an error leaves commands without reply and error.
	for i := range replies {
		if replies[i].err == nil && replies[i].value == nil && failed != nil {
			replies[i].err = failed
		}
	}
	return replies
}
