package backoff

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a Client whose pipeline is layer around core. It never talks
// to Redis.
func newClient(t testing.TB, layer client.Middleware, core client.Handler) *client.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	instead := func(client.Handler) client.Handler { return core }
	c, err := client.New(rdb, client.WithMiddleware(layer, instead))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		_ = rdb.Close()
	})
	return c
}

func mustRetry(t testing.TB, opts ...Option) client.Middleware {
	t.Helper()
	layer, err := Retry(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

// course of attempts: the n-th ends with the n-th error, the last one's for ever;
// nil grants.
type attempts struct {
	ends  []error
	began []time.Duration // since the first
	first time.Time
}

func (a *attempts) core(_ context.Context, req client.Request) (*client.Lease, error) {
	if a.began == nil {
		a.first = time.Now()
	}
	a.began = append(a.began, time.Since(a.first))
	err := a.ends[min(len(a.began), len(a.ends))-1]
	if err == nil {
		return client.NewLocalLease(req)
	}
	return nil, &client.Error{Op: "acquire", Key: req.Key, Err: err}
}

// gaps are the pauses between the attempts.
func (a *attempts) gaps() []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(a.began); i++ {
		gaps = append(gaps, a.began[i]-a.began[i-1])
	}
	return gaps
}

func heldFor(ttl time.Duration) error { return &client.HeldError{Holder: "elsewhere", TTL: ttl} }

// lock is a core in which one lease at a time holds each key, as in Redis.
type lock struct {
	mu   sync.Mutex
	held map[string]bool
}

func (l *lock) core(_ context.Context, req client.Request) (*client.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[req.Key] {
		return nil, &client.Error{Op: "acquire", Key: req.Key, Err: heldFor(0)}
	}
	lease, err := client.NewLocalLease(req)
	if err != nil {
		return nil, err
	}
	if l.held == nil {
		l.held = map[string]bool{}
	}
	l.held[req.Key] = true
	lease.Observe(func(ev client.Event) {
		if ev.Kind == client.EventEnded {
			l.mu.Lock()
			defer l.mu.Unlock()
			delete(l.held, req.Key)
		}
	})
	return lease, nil
}
