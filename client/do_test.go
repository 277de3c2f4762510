package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

func TestDo(t *testing.T) {
	mine := errors.New("mine")
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(3 * time.Second))
		held := func() bool { return w.m.Exists("holdfast:{k}") }

		err := c.Do(w.ctx, "k", func(ctx context.Context, l *client.Lease) error {
			if !held() || ctx != l.Context() {
				t.Error("fn runs without the lock, or with another context")
			}
			return nil
		})
		if err != nil || held() {
			t.Fatalf("%v, held %v", err, held())
		}
		if err := c.Do(w.ctx, "k", func(context.Context, *client.Lease) error { return mine }); err != mine || held() {
			t.Fatalf("%v, held %v", err, held())
		}
		if err := c.Do(w.ctx, "k", nil); !errors.Is(err, client.ErrInvalid) {
			t.Fatal(err)
		}
		other := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		ran := false
		err = c.Do(w.ctx, "k", func(context.Context, *client.Lease) error { ran = true; return nil })
		if !errors.Is(err, client.ErrNotAcquired) || ran {
			t.Fatalf("%v, ran %v", err, ran)
		}
		_ = other.Release(w.ctx)
	})
}

func TestDoIsNeverNilAfterALoss(t *testing.T) {
	mine := errors.New("mine")
	for name, lose := range map[string]func(w *world, l *client.Lease){
		"noticed by renewal": func(w *world, l *client.Lease) { w.m.Del("holdfast:{k}"); <-l.Context().Done() },
		"noticed by release": func(w *world, l *client.Lease) { w.m.Del("holdfast:{k}") },
		"taken":              func(w *world, l *client.Lease) { w.m.Del("holdfast:{k}"); _, _ = w.client().Acquire(w.ctx, "k") },
		"max hold":           func(w *world, l *client.Lease) { <-l.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				c := w.client(client.WithTTL(3*time.Second), client.WithMaxHold(time.Minute))
				for _, result := range []error{nil, mine} {
					err := c.Do(w.ctx, "k", func(_ context.Context, l *client.Lease) error { lose(w, l); return result })
					if !errors.Is(err, client.ErrLost) || result != nil && !errors.Is(err, result) {
						t.Fatalf("fn returned %v, Do %v", result, err)
					}
					w.m.Del("holdfast:{k}")
				}
			})
		})
	}
}

func TestDoReleasesWhenTheWorkPanics(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client()
		func() {
			defer func() {
				if recover() != "boom" {
					t.Error("the panic did not come through")
				}
			}()
			_ = c.Do(w.ctx, "k", func(context.Context, *client.Lease) error { panic("boom") })
		}()
		if w.m.Exists("holdfast:{k}") {
			t.Fatal("the panic kept the lock")
		}
	})
}
