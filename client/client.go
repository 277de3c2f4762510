package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Client takes locks on one Redis. It is safe for concurrent use; Close it when
// done. It never closes the redis client that it was given.
type Client struct {
	defaults       acquireOptions
	prefix         string
	identity       string
	scope          string
	logger         *slog.Logger
	commandTimeout time.Duration
	noHandOver     bool
	layers         []Layer
	handler        Handler
	onClose        []func(context.Context) error
	background     func(context.Context) context.Context

	store      store
	exec       executor
	scheduler  *scheduler
	janitor    janitor
	waiters    *waiters
	flights    *flights // nil where commands go each by itself
	dispatcher dispatcher

	closing context.Context // ended, with ErrClosed, when Close begins
	close   context.CancelCauseFunc
	stopped chan struct{} // closed when Close ends
	calls   tracker
	mu      sync.Mutex // orders the start of calls with Close
	closed  bool
	ending  chan struct{} // closed when the first Close has returned
	endErr  error
}

// New returns a Client whose every acquire is a bare single attempt, wrapped in
// the layers of WithMiddleware: it waits for nothing and repeats nothing. Most
// callers want holdfast.New, which assembles the recommended pipeline. New sends
// nothing: it succeeds while Redis is down. It fails with ErrInvalid.
func New(rdb redis.UniversalClient, opts ...Option) (*Client, error) {
	c, err := build(rdb, opts)
	if err != nil {
		return nil, &Error{Op: "new client", Err: err}
	}
	return c, nil
}

func build(rdb redis.UniversalClient, opts []Option) (*Client, error) {
	if rdb == nil || reflect.ValueOf(rdb).Kind() == reflect.Pointer && reflect.ValueOf(rdb).IsNil() {
		return nil, invalid("the redis client is nil")
	}
	cfg := config{
		acquire:        acquireOptions{ttl: DefaultTTL, class: DefaultClass},
		prefix:         DefaultPrefix,
		identity:       defaultIdentity(),
		commandTimeout: DefaultCommandTimeout,
	}
	for i, o := range opts {
		if o == nil {
			return nil, invalid("option %d is nil", i)
		}
		if err := o.applyClient(&cfg); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(cfg.acquire.check(), checkPrefix(cfg.prefix)); err != nil {
		return nil, err
	}
	if cfg.logger == nil {
		cfg.logger = slog.Default()
	}
	if cfg.assemble == nil && len(cfg.extensions) > 0 {
		return nil, invalid("an option of the recommended pipeline needs holdfast.New")
	}
	holder := field(cfg.identity)
	if len(holder) > maxIdentity {
		return nil, invalid("identity %q has %d bytes when encoded, at most %d fit into the holder record", cfg.identity, len(holder), maxIdentity)
	}
	c := &Client{
		defaults: cfg.acquire, prefix: cfg.prefix, identity: cfg.identity, logger: cfg.logger,
		scope:          scopeOf(rdb, cfg.prefix, cfg.gate),
		commandTimeout: cfg.commandTimeout,
		noHandOver:     cfg.noHandOver,
		onClose:        cfg.onClose,
		background:     func(ctx context.Context) context.Context { return ctx },
		stopped:        make(chan struct{}),
		ending:         make(chan struct{}),
	}
	c.store.rdb, c.store.prefix, c.store.holder = rdb, cfg.prefix, holder
	c.store.channel = cfg.prefix + "wake:" + newToken()
	c.exec.rdb, c.exec.poolSize = rdb, poolSize(rdb)
	c.scheduler = newScheduler(c)
	c.janitor.client = c
	c.waiters = newWaiters(c)
	if !cfg.noSharing && c.store.oneServer() {
		c.flights = &flights{client: c}
	}
	c.closing, c.close = context.WithCancelCause(context.Background())
	c.layers = cfg.layers
	if cfg.assemble != nil {
		layers, err := cfg.assemble(&Assembly{
			Redis: rdb, Prefix: c.prefix, Identity: c.identity, Scope: c.scope, Class: c.defaults.class,
			Logger: c.logger, Layers: cfg.layers, Extensions: cfg.extensions, client: c,
		})
		if err != nil {
			return nil, err
		}
		c.layers = layers
	}
	c.handler = c.attempt
	for i := len(c.layers) - 1; i >= 0; i-- {
		l := c.layers[i]
		if l.Middleware == nil {
			return nil, invalid("layer %q has no middleware", l.Name)
		}
		if c.handler = l.Middleware(c.handler); c.handler == nil {
			return nil, invalid("the middleware of layer %q returned no handler", l.Name)
		}
	}
	return c, nil
}

func defaultIdentity() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	pid := fmt.Sprintf("/%d", os.Getpid())
	return host[:min(len(host), maxIdentity-len(pid))] + pid
}

// Pipeline returns the names of the layers, the outermost first; the last one,
// "redis", is the script itself.
func (c *Client) Pipeline() []string {
	names := make([]string, 0, len(c.layers)+1)
	for _, l := range c.layers {
		names = append(names, l.Name)
	}
	return append(names, "redis")
}

// Identity returns how this Client is named to others; see WithIdentity.
func (c *Client) Identity() string { return c.identity }
