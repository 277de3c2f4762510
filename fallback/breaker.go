package fallback

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// Breaker is the circuit breaker of one Client. Its methods are safe for
// concurrent use.
//
// What counts: a command that did its work is a success, whether it got the lock
// or found it held; one that Redis could not be asked in time, or to which Redis
// answered that it cannot work at present, is a failure; one that tells nothing
// (never sent, no connection free in the pool, refused to this client in
// particular) does not count. It is the end of the command that counts, even if
// its caller has left.
//
// There is one breaker for the whole Client. In a Cluster the failure of one shard
// is diluted by the health of the others, and the probe tests the one slot of its
// key.
type Breaker struct {
	cfg   BreakerConfig
	cb    *gobreaker.TwoStepCircuitBreaker[struct{}]
	state atomic.Uint32          // mirror of cb's: to ask cb itself would move it
	last  atomic.Pointer[outage] // the present one, or the one before; nil if there was none
	trip  gobreaker.Counts       // why cb is about to open; under cb's mutex

	mu    sync.Mutex // may be taken under cb's mutex, and cb's never under it
	since time.Time
	total time.Duration // of the outages that are over
	ended time.Time     // of the last outage

	// Transitions that are to be told of, also under mu.
	queued     atomic.Int32 // len(queue)
	queue      []*transition
	delivering bool
	fns        []func(from, to State)
	reconciled []func(class string, r Result)

	ledger     ledger
	mayDegrade bool // some class is Local; set before Attach

	// The prober's. rdb is nil before Attach, ctx ends with Close.
	rdb      redis.UniversalClient
	key      string
	identity string
	attached atomic.Bool
	server   server
	// background decorates the context of a probe; see client.Assembly.
	background func(context.Context) context.Context
	ctx        context.Context
	cancel     context.CancelFunc
	stuck      atomic.Bool // a probe is inside the redis client
	work       sync.WaitGroup
}

// NewBreaker returns a closed Breaker. It fails with client.ErrInvalid.
func NewBreaker(cfg BreakerConfig) (*Breaker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Breaker{cfg: cfg, since: time.Now(), background: func(ctx context.Context) context.Context { return ctx }}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:          cfg.Name,
		MaxRequests:   uint32(cfg.HalfOpenRequests),
		Interval:      cfg.Window,
		BucketPeriod:  (cfg.Window + windowSteps - 1) / windowSteps,
		Timeout:       cfg.OpenTimeout,
		ReadyToTrip:   b.trips,
		OnStateChange: b.changed,
		IsExcluded:    func(err error) bool { return err == errExcluded },
	})
	return b, nil
}

// trips decides on what has ended: what is under way has not failed yet.
func (b *Breaker) trips(c gobreaker.Counts) bool {
	ended := c.TotalSuccesses + c.TotalFailures
	if ended < uint32(b.cfg.MinRequests) || float64(c.TotalFailures) < b.cfg.FailureRatio*float64(ended) {
		return false
	}
	b.trip = c
	return true
}

// Attach connects b to the Client that is being made: to the ends of its commands,
// which vote, to its Redis, which is probed, and to its Close. A Breaker belongs to
// one Client: a second Attach fails with client.ErrInvalid.
func (b *Breaker) Attach(a *client.Assembly) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rdb != nil {
		return invalid("breaker %q is attached to a client already", b.cfg.Name)
	}
	b.rdb, b.key, b.identity, b.background = a.Redis, probeKey(a.Prefix), a.Identity, a.Background
	b.attached.Store(true)
	a.OnCommand(b.observe)
	a.OnClose(b.Close)
	if o := b.outage(); o != nil {
		b.startProber(o)
	}
	return nil
}

// Close ends the prober and waits, as long as ctx allows, for a probe that Redis
// has not answered. The Breaker itself goes on working, but is no longer probed.
// Attach has the Client's Close call it.
func (b *Breaker) Close(ctx context.Context) error {
	b.mu.Lock()
	b.cancel() // after this no prober starts
	b.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		b.work.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("holdfast: breaker %q: a probe that Redis has not answered is still under way: %w", b.cfg.Name, context.Cause(ctx))
	}
}
