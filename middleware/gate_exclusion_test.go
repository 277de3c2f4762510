package middleware

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// referee is a core that knows who is inside of each lock.
type referee struct {
	t      *testing.T
	mu     sync.Mutex
	inside map[string][]client.Request
}

func newReferee(t *testing.T) *referee {
	return &referee{t: t, inside: map[string][]client.Request{}}
}

func (r *referee) in(req client.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range r.inside[req.Key] {
		if !together(req, other) {
			r.t.Errorf("%s: %v of %d, owner %q, is inside beside %v of %d, owner %q", req.Key,
				req.Mode, req.Slots, req.Owner, other.Mode, other.Slots, other.Owner)
		}
	}
	r.inside[req.Key] = append(r.inside[req.Key], req)
	if n := len(r.inside[req.Key]); req.Mode == client.SlotsMode && n > req.Slots {
		r.t.Errorf("%d are inside of %d slots", n, req.Slots)
	}
}

func together(a, b client.Request) bool {
	if a.Mode == client.Exclusive {
		return b.Mode == client.Exclusive && a.Owner != "" && a.Owner == b.Owner
	}
	return a.Mode == b.Mode && a.Slots == b.Slots
}

func (r *referee) out(req client.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	inside := r.inside[req.Key]
	i := slices.IndexFunc(inside, func(o client.Request) bool { return o.Call() == req.Call() })
	r.inside[req.Key] = slices.Delete(inside, i, i+1)
}

func (r *referee) core(ctx context.Context, req client.Request) (lease *client.Lease, err error) {
	r.in(req)
	defer func() {
		if lease == nil {
			r.out(req)
		}
	}()
	if n := rand.IntN(10); n < 3 {
		select {
		case <-time.After(time.Duration(rand.IntN(200)) * time.Microsecond):
		case <-ctx.Done():
		}
	} else if n == 3 {
		panic("broken")
	}
	if rand.IntN(3) == 0 {
		return held(ctx, req)
	}
	lease, err = grant(ctx, req)
	lease.Observe(func(ev client.Event) { // comes before the gate's own observer
		if ev.Kind == client.EventEnded {
			r.out(req)
		}
	})
	return lease, err
}

func TestGateExcludesWhateverHappens(t *testing.T) {
	const callers, rounds = 48, 150
	r := newReferee(t)
	c := newClient(t, r.core, Gate())
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range rounds {
				randomCall(t, c)
			}
		})
	}
	wg.Wait()
	if err := c.Close(context.Background()); err != nil { // the last events have been delivered
		t.Error(err)
	}
	wantIdle(t)
}

func randomCall(t *testing.T, c *client.Client) {
	defer func() { _ = recover() }()
	ctx := context.Background()
	if rand.IntN(2) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(1000))*time.Microsecond)
		defer cancel()
	}
	ttl := 2 * time.Millisecond
	if rand.IntN(2) == 0 {
		ttl = time.Minute
	}
	opts := []client.AcquireOption{client.WithTTL(ttl)}
	if rand.IntN(3) == 0 {
		opts = append(opts, client.Slots(1+rand.IntN(3)))
	} else {
		if n := rand.IntN(6); n < 2 {
			opts = append(opts, client.WithOwner(fmt.Sprint(n)))
		}
		if rand.IntN(2) == 0 {
			opts = append(opts, client.Shared())
		}
	}
	if rand.IntN(8) == 0 {
		opts = append(opts, client.Barging())
	}
	try := c.Acquire
	if rand.IntN(4) == 0 {
		try = c.TryAcquire
	}
	lease, err := try(ctx, fmt.Sprint(rand.IntN(3)), opts...)
	if err != nil {
		upgrade := errors.Is(err, client.ErrInvalid)
		if !upgrade && !errors.Is(err, client.ErrNotAcquired) && !errors.Is(err, client.ErrUnavailable) {
			t.Error(err)
		}
		return
	}
	if ttl == time.Minute || rand.IntN(2) == 0 { // else it expires
		time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
		_ = lease.Release(context.Background())
	}
}
