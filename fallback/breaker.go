package fallback

import (
	"context"
	"errors"
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

	queued atomic.Int32 // len(queue)
	mu     sync.Mutex   // may be taken under cb's mutex, and cb's never under it
	since  time.Time
	total  time.Duration // of the outages that are over
	queue  []*transition
	busy   bool // somebody delivers the queue
	fns    []func(from, to State)

	ctx    context.Context // ended by Close
	cancel context.CancelFunc
	rdb    redis.UniversalClient // nil before Attach
	key    string
	stuck  atomic.Bool // a probe is inside the redis client
	work   sync.WaitGroup
}

// How a command ended, in the form in which gobreaker asks for it. A success is nil.
var (
	errFailed   = errors.New("failed")
	errNoMatter = errors.New("does not matter")
)

// NewBreaker returns a closed Breaker. It fails with client.ErrInvalid.
func NewBreaker(cfg BreakerConfig) (*Breaker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Breaker{cfg: cfg, since: time.Now()}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:          cfg.Name,
		MaxRequests:   uint32(cfg.HalfOpenRequests),
		Interval:      cfg.Window,
		BucketPeriod:  (cfg.Window + windowSteps - 1) / windowSteps,
		Timeout:       cfg.OpenTimeout,
		ReadyToTrip:   b.trips,
		OnStateChange: b.changed,
		IsExcluded:    func(err error) bool { return err == errNoMatter },
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
	b.rdb, b.key = a.Redis, probeKey(a.Prefix)
	a.OnCommand(b.observe)
	a.OnClose(b.Close)
	if o := b.outage(); o != nil {
		b.startProber(o)
	}
	return nil
}

// Middleware returns the layer that asks b before each attempt. One that is refused
// fails at once with an *OpenError; see client.Call.ShortCircuited.
func (b *Breaker) Middleware() client.Middleware {
	return func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			done, err := b.allow()
			if err != nil {
				req.Call().ShortCircuited()
				return nil, &client.Error{Op: "acquire", Key: req.Key, Err: b.last.Load().refusal}
			}
			req, finish := req.WithSettlement(func(v client.Verdict) { b.settle(done, v) })
			defer finish()
			lease, err := next(ctx, req)
			if isReply(err) {
				b.answered()
			}
			return lease, err
		}
	}
}

// allow admits one command, whose end has to be settled. Where it fails there is
// or was an outage.
func (b *Breaker) allow() (done func(error), err error) {
	done, err = b.cb.Allow()
	b.deliver()
	return done, err
}

// settle votes with the end of a command that was admitted.
func (b *Breaker) settle(done func(error), v client.Verdict) {
	switch v {
	case client.Healthy:
		b.answered()
		done(nil)
	case client.Faulty:
		done(errFailed)
	default:
		done(errNoMatter)
	}
	b.deliver()
}

// vote counts a command that needed no admission.
func (b *Breaker) vote(v client.Verdict) {
	if done, err := b.allow(); err == nil {
		b.settle(done, v)
	}
}

// observe takes the end of a command that the layer has not seen: a renewal, a
// release, a clean-up. They help to open the breaker. To close it is for attempts
// on trial and for probes, which write: a renewal passes on a server that is out
// of memory, and an old command that fails late says nothing of the server as it
// is now. A read that passed does not count at all, a replica serves it too.
func (b *Breaker) observe(c client.Command) {
	if c.Verdict == client.Healthy {
		b.answered()
	}
	if c.Op == "acquire" || c.Verdict == client.Neutral || b.State() != Closed ||
		c.Op == "inspect" && c.Verdict == client.Healthy {
		return
	}
	b.vote(c.Verdict)
}

// outage is the one that goes on, nil while b is closed.
func (b *Breaker) outage() *outage {
	if o := b.last.Load(); o != nil && !o.isOver() {
		return o
	}
	return nil
}

func (b *Breaker) answered() {
	if o := b.outage(); o != nil {
		o.answered()
	}
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
