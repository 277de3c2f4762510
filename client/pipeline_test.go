package client_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

func TestChainFoldsTheFirstOutermost(t *testing.T) {
	var order []string
	named := func(name string) client.Middleware {
		return func(next client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				order = append(order, name)
				req.Class += name // its own copy
				return next(ctx, req)
			}
		}
	}
	core := func(_ context.Context, req client.Request) (*client.Lease, error) {
		order = append(order, req.Class)
		return nil, nil
	}
	req := client.Request{}
	_, _ = client.Chain(named("a"), nil, named("b"), named("c"))(core)(context.Background(), req)
	if !slices.Equal(order, []string{"a", "b", "c", "abc"}) || req.Class != "" {
		t.Fatal(order)
	}
}

func TestPipelineNamesItsLayers(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithLayer("audit", client.Chain()), client.WithMiddleware(passThrough))
		got := c.Pipeline()
		want := []string{"audit", "github.com/holdfast-go/holdfast/client_test.passThrough", "redis"}
		if !slices.Equal(got, want) {
			t.Fatal(got)
		}
	})
}

func passThrough(next client.Handler) client.Handler {
	return func(ctx context.Context, req client.Request) (*client.Lease, error) { return next(ctx, req) }
}

func TestEightLayersAllocateNothing(t *testing.T) {
	core := func(context.Context, client.Request) (*client.Lease, error) { return nil, client.ErrNotAcquired }
	chain := client.Chain(slices.Repeat([]client.Middleware{passThrough}, 8)...)(core)
	ctx, req := context.Background(), client.Request{Key: "k"}
	if n := testing.AllocsPerRun(1000, func() { _, _ = chain(ctx, req) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// A layer that fails, panics or gives nothing back after the lock was granted
// leaves no lock behind, and no renewal.
func TestALeaseThatALayerKeptIsReleased(t *testing.T) {
	mine := errors.New("mine")
	for name, after := range map[string]func() (*client.Lease, error){
		"error":   func() (*client.Lease, error) { return nil, mine },
		"panic":   func() (*client.Lease, error) { panic(mine) },
		"nothing": func() (*client.Lease, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				var ended client.Event
				c := w.client(client.WithMiddleware(func(next client.Handler) client.Handler {
					return func(ctx context.Context, req client.Request) (*client.Lease, error) {
						l, err := next(ctx, req)
						if err != nil {
							t.Error(err)
						}
						l.Observe(func(e client.Event) { ended = e })
						return after()
					}
				}))
				func() {
					defer func() { _ = recover() }()
					l, err := c.Acquire(w.ctx, "k")
					if l != nil || err == nil || name == "error" && !errors.Is(err, mine) {
						t.Errorf("%v, %v", l, err)
					}
				}()
				synctest.Wait()
				if w.m.Exists("holdfast:{k}") {
					t.Fatal("the lock is left behind")
				}
				if ended.Kind != client.EventEnded {
					t.Fatal("those who observe the lease were not told")
				}
				must[*client.Lease](t)(w.client().TryAcquire(w.ctx, "k"))
			})
		})
	}
}

func TestALayerMayRepeat(t *testing.T) {
	simulate(t, func(w *world) {
		var leases []*client.Lease
		c := w.client(client.WithMiddleware(func(next client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				for range 3 {
					l, err := next(ctx, req)
					if err != nil {
						return nil, err
					}
					leases = append(leases, l)
				}
				_ = leases[0].Release(ctx)
				l, err := next(ctx, req) // after a release: another lease, another token
				leases = append(leases, l)
				return l, err
			}
		}))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		if leases[0] != leases[1] || leases[1] != leases[2] {
			t.Error("one acquire has several leases")
		}
		if l.Token() == leases[0].Token() || l.Context().Err() != nil {
			t.Error("the token of a released lease came back")
		}
		if err := l.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
	})
}

func TestALayerEditsTheRequest(t *testing.T) {
	simulate(t, func(w *world) {
		edit := func(change func(*client.Request)) client.Option {
			return client.WithMiddleware(func(next client.Handler) client.Handler {
				return func(ctx context.Context, req client.Request) (*client.Lease, error) {
					change(&req)
					return next(ctx, req)
				}
			})
		}
		l := must[*client.Lease](t)(w.client(edit(func(r *client.Request) { r.TTL = time.Minute })).Acquire(w.ctx, "k"))
		if ttl := w.m.TTL("holdfast:{k}"); ttl != time.Minute || l.Context().Err() != nil {
			t.Errorf("TTL %v", ttl)
		}
		if _, err := w.client(edit(func(r *client.Request) { r.TTL = -1 })).Acquire(w.ctx, "b"); !errors.Is(err, client.ErrInvalid) {
			t.Error(err)
		}
		bounded := w.client(edit(func(r *client.Request) { r.MaxTTL = 45 * time.Second }))
		if _, err := bounded.Acquire(w.ctx, "c", client.WithMinHold(time.Minute)); !errors.Is(err, client.ErrInvalid) {
			t.Error(err)
		}
		l = must[*client.Lease](t)(bounded.Acquire(w.ctx, "d"))
		if err := l.Extend(w.ctx, time.Minute); !errors.Is(err, client.ErrInvalid) {
			t.Error(err)
		}
	})
}
