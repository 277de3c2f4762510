package client_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

type recorder struct {
	mu     sync.Mutex
	events []client.Event
}

func (r *recorder) observe(e client.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) kinds() []client.EventKind {
	r.mu.Lock()
	defer r.mu.Unlock()
	var kinds []client.EventKind
	for _, e := range r.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func TestObserversSeeTheLifeOfALease(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(3 * time.Second))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		var r recorder
		l.Observe(r.observe)
		l.Observe(func(client.Event) { panic("an observer's own fault") })
		time.Sleep(time.Second + 7*time.Millisecond)
		w.m.SetError("LOADING Redis is loading the dataset in memory")
		time.Sleep(2200 * time.Millisecond)
		w.m.SetError("")
		time.Sleep(time.Second)
		if err := l.Release(w.ctx); err != nil {
			t.Fatal(err)
		}
		kinds := slices.Compact(r.kinds())
		want := []client.EventKind{client.EventRenewed, client.EventRenewalFailed, client.EventRenewed, client.EventReleased, client.EventEnded}
		if !slices.Equal(kinds, want) {
			t.Fatalf("kinds %v", kinds)
		}
		for _, e := range r.events {
			switch {
			case e.Lease != l:
				t.Errorf("an event of another lease: %+v", e)
			case e.Kind == client.EventRenewed && (e.Headroom <= 0.6 || e.Headroom > 1):
				t.Errorf("headroom %v", e.Headroom)
			case e.Kind == client.EventRenewalFailed && client.ErrorType(e.Err) != "unavailable":
				t.Errorf("renewal failed: %v", e.Err)
			case e.Kind == client.EventReleased && (e.Err != nil || e.Context != w.ctx):
				t.Errorf("released: %+v", e)
			case e.Kind == client.EventEnded && (e.Reason != client.EndReleased || e.Loss != "" || e.Duration < 3*time.Second):
				t.Errorf("ended: %+v", e)
			}
		}
		var late recorder
		l.Observe(late.observe)
		if !slices.Equal(late.kinds(), []client.EventKind{client.EventEnded}) {
			t.Errorf("after the end: %v", late.kinds())
		}
	})
}

func TestAnObserverMayRelease(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(3 * time.Second))
		l := must[*client.Lease](t)(c.Acquire(w.ctx, "k"))
		var r recorder
		l.Observe(func(e client.Event) {
			r.observe(e)
			if e.Kind == client.EventRenewed {
				_ = l.Release(context.Background())
			}
		})
		time.Sleep(5 * time.Second)
		if got := fmt.Sprint(r.kinds()); got != "[1 3 4]" {
			t.Fatal(got)
		}
	})
}

func TestEveryLeaseEndsOnce(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(time.Second))
		var mu sync.Mutex
		ends := map[string]int{}
		for i := range 300 {
			ctx, cancel := context.WithCancel(w.ctx)
			defer cancel()
			l := must[*client.Lease](t)(c.Acquire(ctx, fmt.Sprint(i), client.WithMaxHold(2*time.Second)))
			l.Observe(func(e client.Event) {
				if e.Kind == client.EventEnded {
					mu.Lock()
					defer mu.Unlock()
					ends[l.Key()]++
				}
			})
			go func() { // all at one instant
				time.Sleep(2*time.Second - time.Duration(i%3)*time.Nanosecond)
				switch i % 4 {
				case 0:
					_ = l.Release(ctx)
				case 1:
					cancel()
				case 2:
					w.m.Del("holdfast:{" + l.Key() + "}")
				}
			}()
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(ends) != 300 {
			t.Fatalf("%d leases ended", len(ends))
		}
		for key, n := range ends {
			if n != 1 {
				t.Errorf("lease %s ended %d times", key, n)
			}
		}
	})
}
