package holdfast

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/client"
)

// New returns a Client with the recommended pipeline; see the package comment for
// its layers and defaults. The defaults of package client hold as well: TTL 30 s,
// renewal every third of it, Acquire waits until its context ends. While Redis is
// down calls fail, unless WithFallback says otherwise for their class.
//
// New sends nothing: it succeeds while Redis is down. It fails with ErrInvalid.
// Close the Client when done; rdb stays yours.
func New(rdb redis.UniversalClient, opts ...Option) (*Client, error) {
	return client.New(rdb, append(slices.Clip(opts), client.WithPipeline(assemble))...)
}

// The names that most callers need, so that one import does.
type (
	// Client takes locks; see client.Client.
	Client = client.Client
	// Lease is a lock that is held; see client.Lease.
	Lease = client.Lease
	// Request is one acquire on its way through the pipeline; see client.Request.
	Request = client.Request
	// Handler performs an acquire; see client.Handler.
	Handler = client.Handler
	// Middleware wraps a Handler; see client.Middleware.
	Middleware = client.Middleware
	// Event is something that happened to a lease; see client.Event.
	Event = client.Event
	// Holder is one of those who hold a lock; see client.Holder.
	Holder = client.Holder
	// Info is what Redis knows of a lock; see client.Info.
	Info = client.Info
	// Option configures a Client; see client.Option.
	Option = client.Option
	// AcquireOption configures one acquire; see client.AcquireOption.
	AcquireOption = client.AcquireOption
	// SharedOption configures both; see client.SharedOption.
	SharedOption = client.SharedOption
	// Error says which operation failed on which lock; see client.Error.
	Error = client.Error
	// HeldError is the detail of ErrNotAcquired; see client.HeldError.
	HeldError = client.HeldError
	// LostError is the detail of ErrLost; see client.LostError.
	LostError = client.LostError
)

// The sentinels, for errors.Is; see package client.
var (
	ErrNotAcquired = client.ErrNotAcquired // somebody else holds the lock
	ErrNotHeld     = client.ErrNotHeld     // the lease is no longer ours
	ErrLost        = client.ErrLost        // cause of Lease.Context: it ended under the holder
	ErrReleased    = client.ErrReleased    // cause of Lease.Context after Release
	ErrUnavailable = client.ErrUnavailable // Redis could not be asked
	ErrRefused     = client.ErrRefused     // Redis answered and will go on refusing
	ErrClosed      = client.ErrClosed      // the Client is closed
	ErrInvalid     = client.ErrInvalid     // a bad argument; nothing was sent
)

// WithTTL sets how long a grant lasts unless it is renewed; see client.WithTTL.
func WithTTL(ttl time.Duration) SharedOption { return client.WithTTL(ttl) }

// WithClass names the kind of lock, for metrics; see client.WithClass.
func WithClass(class string) SharedOption { return client.WithClass(class) }

// WithWaitTimeout bounds the wait, and the wait alone; see client.WithWaitTimeout.
func WithWaitTimeout(d time.Duration) SharedOption { return client.WithWaitTimeout(d) }

// WithRenewalInterval sets how often a lease is renewed; see client.WithRenewalInterval.
func WithRenewalInterval(d time.Duration) SharedOption { return client.WithRenewalInterval(d) }

// WithoutRenewal lets a lease end with its TTL; see client.WithoutRenewal.
func WithoutRenewal() SharedOption { return client.WithoutRenewal() }

// WithMaxHold ends a lease that is held too long; see client.WithMaxHold.
func WithMaxHold(d time.Duration) SharedOption { return client.WithMaxHold(d) }

// WithMinHold keeps the lock for a time even if it is released earlier; see client.WithMinHold.
func WithMinHold(d time.Duration) SharedOption { return client.WithMinHold(d) }

// Reentrant nests an acquire in the lease whose context it is made from; see client.Reentrant.
func Reentrant() SharedOption { return client.Reentrant() }

// WithOwner lets every acquire with the same id enter; see client.WithOwner.
func WithOwner(id string) AcquireOption { return client.WithOwner(id) }

// Shared takes the lock together with others who do so; see client.Shared.
func Shared() AcquireOption { return client.Shared() }

// Slots lets up to n leases hold the lock together; see client.Slots.
func Slots(n int) AcquireOption { return client.Slots(n) }

// Barging lets an acquire in over those who wait; see client.Barging.
func Barging() SharedOption { return client.Barging() }

// WithMiddleware adds layers between telemetry and timeout; see client.WithMiddleware.
func WithMiddleware(mws ...Middleware) Option { return client.WithMiddleware(mws...) }

// WithLayer is WithMiddleware for one layer with a name; see client.WithLayer.
func WithLayer(name string, mw Middleware) Option { return client.WithLayer(name, mw) }

// WithPrefix sets what all keys begin with; see client.WithPrefix.
func WithPrefix(prefix string) Option { return client.WithPrefix(prefix) }

// WithIdentity names this process to operators and waiters; see client.WithIdentity.
func WithIdentity(id string) Option { return client.WithIdentity(id) }

// WithGate gives the Client a gate of its own; see client.WithGate.
func WithGate(name string) Option { return client.WithGate(name) }

// WithCommandTimeout bounds each command; see client.WithCommandTimeout.
func WithCommandTimeout(d time.Duration) Option { return client.WithCommandTimeout(d) }

// WithoutLocalHandOver has each Release give the lock back to Redis; see
// client.WithoutLocalHandOver.
func WithoutLocalHandOver() Option { return client.WithoutLocalHandOver() }

// WithoutSharedRoundTrips sends each command by itself; see
// client.WithoutSharedRoundTrips.
func WithoutSharedRoundTrips() Option { return client.WithoutSharedRoundTrips() }

// WithLogger sets where transitions are logged; see client.WithLogger.
func WithLogger(l *slog.Logger) Option { return client.WithLogger(l) }

// WithOnClose adds a function that Close calls; see client.WithOnClose.
func WithOnClose(fn func(ctx context.Context) error) Option { return client.WithOnClose(fn) }
