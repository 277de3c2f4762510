package contender

import (
	"context"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// recorder is a hook of go-redis that keeps the commands that pass, from start to
// stop.
type recorder struct {
	mu       sync.Mutex
	on       bool
	commands [][]any

	token string // of the lease for which they were sent
}

// start forgets what was kept.
func (r *recorder) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on, r.commands = true, nil
}

func (r *recorder) stop() [][]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = false
	return r.commands
}

func (r *recorder) keep(cmds ...redis.Cmder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.on {
		return
	}
	for _, c := range cmds {
		r.commands = append(r.commands, slices.Clone(c.Args()))
	}
}

func (r *recorder) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.keep(cmd)
		return next(ctx, cmd)
	}
}

func (r *recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		r.keep(cmds...)
		return next(ctx, cmds)
	}
}
