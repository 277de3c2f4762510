package client

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// Assembly is what a pipeline's builder gets to know of the Client, and where it
// hangs what is not a layer. It is used inside New only, by one goroutine.
type Assembly struct {
	Redis    redis.UniversalClient
	Prefix   string
	Identity string
	Scope    string // see Request.Scope
	Class    string // the Client's default class
	Logger   *slog.Logger
	Layers   []Layer // from WithMiddleware and WithLayer
	// Extensions are the values of WithExtension, in order.
	Extensions []any

	client *Client
}

// WithPipeline makes the Client's pipeline from the layers that assemble returns,
// outermost first. Without it the pipeline is Assembly.Layers.
func WithPipeline(assemble func(*Assembly) ([]Layer, error)) Option {
	return clientOption(func(c *config) error {
		if assemble == nil {
			return invalid("pipeline builder is nil")
		}
		c.assemble = assemble
		return nil
	})
}

// WithExtension hands a value to the builder of WithPipeline: the way in which a
// package that assembles a pipeline defines options of its own. New refuses it
// where there is no builder.
func WithExtension(value any) Option {
	return clientOption(func(c *config) error {
		c.extensions = append(c.extensions, value)
		return nil
	})
}

// Command is one command that ended, for those who judge the server's health.
type Command struct {
	Op       string // acquire, poll, extend, renew, release, cleanup, inspect, downgrade, break, promote
	Verdict  Verdict
	Answered bool // the server replied, if only with an error
	Duration time.Duration
}

// OnCommand has fn called at the real end of each command of the Client, from
// many goroutines; fn must not block.
func (a *Assembly) OnCommand(fn func(Command)) {
	a.client.exec.onEnd = append(a.client.exec.onEnd, fn)
}

// OnClose has fn called by Close, as WithOnClose does.
func (a *Assembly) OnClose(fn func(context.Context) error) {
	a.client.onClose = append(a.client.onClose, fn)
}

// Background decorates the context of a command that no caller waits for; see
// InBackground.
func (a *Assembly) Background(ctx context.Context) context.Context { return a.client.background(ctx) }

// InBackground has fn decorate the context of commands that no caller waits for
// (renewals, clean-up), so that an instrumented redis client can be told not to
// open a trace for each.
func (a *Assembly) InBackground(fn func(context.Context) context.Context) {
	a.client.background = fn
}
