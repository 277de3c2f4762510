package middleware

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// referee is a core that knows who is inside of each lock.
type referee struct {
	t      *testing.T
	mu     sync.Mutex
	inside map[string]int
	owners map[string]string
}

func newReferee(t *testing.T) *referee {
	return &referee{t: t, inside: map[string]int{}, owners: map[string]string{}}
}

func (r *referee) in(req client.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.inside[req.Key]; n > 0 && (req.Owner == "" || req.Owner != r.owners[req.Key]) {
		r.t.Errorf("owner %q is inside of %s beside %d of owner %q", req.Owner, req.Key, n, r.owners[req.Key])
	}
	r.inside[req.Key]++
	r.owners[req.Key] = req.Owner
}

func (r *referee) out(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside[key]--
}

func (r *referee) core(ctx context.Context, req client.Request) (lease *client.Lease, err error) {
	r.in(req)
	defer func() {
		if lease == nil {
			r.out(req.Key)
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
			r.out(req.Key)
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
	if n := rand.IntN(6); n < 2 {
		opts = append(opts, client.WithOwner(fmt.Sprint(n)))
	}
	try := c.Acquire
	if rand.IntN(4) == 0 {
		try = c.TryAcquire
	}
	lease, err := try(ctx, fmt.Sprint(rand.IntN(3)), opts...)
	if err != nil {
		if !errors.Is(err, client.ErrNotAcquired) && !errors.Is(err, client.ErrUnavailable) {
			t.Error(err)
		}
		return
	}
	if ttl == time.Minute || rand.IntN(2) == 0 { // else it expires
		time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
		_ = lease.Release(context.Background())
	}
}
