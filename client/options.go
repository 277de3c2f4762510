package client

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"time"
)

// Defaults of the options.
const (
	DefaultTTL            = 30 * time.Second
	DefaultPrefix         = "holdfast:"
	DefaultClass          = "default"
	DefaultCommandTimeout = time.Second
)

// Option configures a Client.
type Option interface{ applyClient(*config) error }

// AcquireOption configures one acquire.
type AcquireOption interface{ applyAcquire(*acquireOptions) error }

// SharedOption serves both: given to New it is the default of each acquire,
// given to an acquire it counts for that one.
type SharedOption interface {
	Option
	AcquireOption
}

type config struct {
	acquire        acquireOptions
	prefix         string
	identity       string
	gate           string
	logger         *slog.Logger
	commandTimeout time.Duration
	noHandOver     bool
	noSharing      bool
	layers         []Layer
	onClose        []func(context.Context) error
	extensions     []any
	assemble       func(*Assembly) ([]Layer, error)
}

type acquireOptions struct {
	ttl           time.Duration
	class         string
	waitTimeout   time.Duration
	renewInterval time.Duration // 0: a third of the TTL
	noRenewal     bool
	maxHold       time.Duration
	minHold       time.Duration
	reentrant     bool
	owner         string
	mode          Mode
	slots         int
	barge         bool
}

type clientOption func(*config) error

func (o clientOption) applyClient(c *config) error { return o(c) }

type acquireOption func(*acquireOptions) error

func (o acquireOption) applyAcquire(a *acquireOptions) error { return o(a) }

type sharedOption func(*acquireOptions) error

func (o sharedOption) applyClient(c *config) error          { return o(&c.acquire) }
func (o sharedOption) applyAcquire(a *acquireOptions) error { return o(a) }

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// WithTTL sets how long a grant lasts unless it is renewed. Default 30 s,
// minimum 1 ms; fractions of a millisecond are rounded up in Redis.
func WithTTL(ttl time.Duration) SharedOption {
	return sharedOption(func(a *acquireOptions) error {
		a.ttl = ttl
		return checkTTL("TTL", ttl)
	})
}

// WithClass names the kind of lock ("stock", "payout"): the only label of a lock
// in metrics, so it must be static and of low cardinality. Default "default".
func WithClass(class string) SharedOption {
	return sharedOption(func(a *acquireOptions) error {
		if class == "" || len(class) > maxClass {
			return invalid("class must have 1 to %d bytes, has %d", maxClass, len(class))
		}
		a.class = class
		return nil
	})
}

// WithWaitTimeout bounds the wait for the lock, and the wait alone: the lease
// lives on. (The context given to Acquire bounds the wait too, but then carries
// the lease.) Default 0: until the context ends. The error of a wait that it
// ends matches context.DeadlineExceeded. It is the timeout layer that heeds it.
func WithWaitTimeout(d time.Duration) SharedOption {
	return sharedOption(func(a *acquireOptions) error {
		if d < 0 {
			return invalid("wait timeout must not be negative, is %v", d)
		}
		a.waitTimeout = d
		return nil
	})
}

// WithRenewalInterval sets how often a lease is renewed. Default a third of the
// TTL; it must be at least 1 ms and below nine tenths of the TTL.
func WithRenewalInterval(d time.Duration) SharedOption {
	return sharedOption(func(a *acquireOptions) error {
		if d < minTTL {
			return invalid("renewal interval must be at least %v, is %v", minTTL, d)
		}
		a.renewInterval = d
		return nil
	})
}

// WithoutRenewal lets the lease end when its TTL has passed, unless Extend moves
// its deadline.
func WithoutRenewal() SharedOption {
	return sharedOption(func(a *acquireOptions) error {
		a.noRenewal = true
		return nil
	})
}

// WithMaxHold ends a lease that is held for longer than d: renewal stops, the
// lease's context ends with a cause that matches ErrLost, and the key goes at
// Release or after its TTL. Default 0: no bound.
func WithMaxHold(d time.Duration) SharedOption {
	return sharedOption(func(a *acquireOptions) error {
		if d < 0 {
			return invalid("max hold must not be negative, is %v", d)
		}
		a.maxHold = d
		return nil
	})
}

// WithMinHold keeps the lock from everybody until d has passed since the grant,
// even if it is released earlier: the key then rests. A cron job that takes
// milliseconds so runs once though the clocks of its hosts differ. Default 0.
func WithMinHold(d time.Duration) SharedOption {
	return sharedOption(func(a *acquireOptions) error {
		if d < 0 || d > maxTTL {
			return invalid("min hold must be between 0 and %v, is %v", maxTTL, d)
		}
		a.minHold = d
		return nil
	})
}

// Reentrant lets an acquire whose context descends from the context of a live
// lease of the same Client, key and mode nest inside that lease instead of
// waiting for it: it is counted locally, without a round trip, and the lease
// ends at the last Release. Of its other options only WithMinHold counts; TTL,
// renewal and class are those of the lease. Goroutines that share such a context do not exclude
// each other.
func Reentrant() SharedOption {
	return sharedOption(func(a *acquireOptions) error {
		a.reentrant = true
		return nil
	})
}

// WithOwner lets every acquire with the same id, from any process, enter a lock
// that id holds. Each has its own lease with its own expiry, and the lock is free
// when the last one is gone. At most 64 bytes. The id is a shared secret of its
// users: whoever knows it, enters.
func WithOwner(id string) AcquireOption {
	return acquireOption(func(a *acquireOptions) error {
		if id == "" || len(id) > maxOwner {
			return invalid("owner must have 1 to %d bytes, has %d", maxOwner, len(id))
		}
		a.owner = id
		return nil
	})
}

// WithMiddleware adds layers around the core, the first the outermost. Called
// more than once it adds further ones inside.
func WithMiddleware(mws ...Middleware) Option {
	return clientOption(func(c *config) error {
		for i, mw := range mws {
			if mw == nil {
				return invalid("middleware %d is nil", i)
			}
			c.layers = append(c.layers, Layer{Name: funcName(mw), Middleware: mw})
		}
		return nil
	})
}

// WithLayer is WithMiddleware for one layer with a name of its own.
func WithLayer(name string, mw Middleware) Option {
	return clientOption(func(c *config) error {
		if mw == nil || name == "" {
			return invalid("layer %q needs a name and a middleware", name)
		}
		c.layers = append(c.layers, Layer{Name: name, Middleware: mw})
		return nil
	})
}

func funcName(mw Middleware) string {
	return runtime.FuncForPC(reflect.ValueOf(mw).Pointer()).Name()
}

// WithPrefix sets what all keys of the Client begin with. Default "holdfast:".
// Clients with different prefixes share no lock.
func WithPrefix(prefix string) Option {
	return clientOption(func(c *config) error {
		if len(prefix) > maxPrefix {
			return invalid("prefix must have at most %d bytes, has %d", maxPrefix, len(prefix))
		}
		c.prefix = prefix
		return nil
	})
}

// WithIdentity sets how this process is named to operators and waiters: in the
// holder record, in errors and in traces. At most 64 bytes, of which those that are
// not printable count three, since they are percent-encoded in Redis. Default "host/pid". It has no part in ownership.
func WithIdentity(id string) Option {
	return clientOption(func(c *config) error {
		if id == "" || len(id) > maxIdentity {
			return invalid("identity must have 1 to %d bytes, has %d", maxIdentity, len(id))
		}
		c.identity = id
		return nil
	})
}

// WithGate puts the Client behind the process's gate of that name instead of the
// one that all Clients of the same endpoint and prefix share. Clients behind
// different gates do not exclude each other inside the process, only in Redis:
// for tests that play several processes, and for tenants.
func WithGate(name string) Option {
	return clientOption(func(c *config) error {
		if name == "" {
			return invalid("gate name is empty")
		}
		c.gate = name
		return nil
	})
}

// WithLogger sets where the Client logs transitions. Default slog.Default, also
// for nil.
func WithLogger(l *slog.Logger) Option {
	return clientOption(func(c *config) error {
		c.logger = l
		return nil
	})
}

// WithOnClose adds a function that Close calls, with its context, after the
// leases have ended. The last added is called first.
func WithOnClose(fn func(ctx context.Context) error) Option {
	return clientOption(func(c *config) error {
		if fn == nil {
			return invalid("on-close function is nil")
		}
		c.onClose = append(c.onClose, fn)
		return nil
	})
}

// WithCommandTimeout bounds each command to Redis, whatever the time-outs of the
// given client are. Default 1 s, at least 1 ms, at most 1 h. A renewal is bounded by what is left of its
// lease as well.
func WithCommandTimeout(d time.Duration) Option {
	return clientOption(func(c *config) error {
		if d < minCommandTimeout || d > maxCommandTimeout {
			return invalid("command timeout must be %v to %v, is %v", minCommandTimeout, maxCommandTimeout, d)
		}
		c.commandTimeout = d
		return nil
	})
}
