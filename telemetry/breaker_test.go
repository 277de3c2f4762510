package telemetry

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// fakeBreaker is in whatever state it is told to be in.
type fakeBreaker struct {
	name  string
	state string
	open  time.Duration
	fns   []func(from, to string)
}

func newFakeBreaker(name string) *fakeBreaker { return &fakeBreaker{name: name, state: "closed"} }

func (b *fakeBreaker) Breaker() Breaker {
	return Breaker{
		Name:         b.name,
		State:        func() string { return b.state },
		OpenTime:     func() time.Duration { return b.open },
		OnTransition: func(fn func(from, to string)) { b.fns = append(b.fns, fn) },
	}
}

func (b *fakeBreaker) move(to string) {
	from := b.state
	b.state = to
	for _, fn := range b.fns {
		fn(from, to)
	}
}

func TestWatchBreaker(t *testing.T) {
	r := newRig(t)
	b := newFakeBreaker("redis")
	if err := r.WatchBreaker(b.Breaker()); err != nil {
		t.Fatal(err)
	}
	expect := func(name string, want map[string]point) {
		t.Helper()
		if got := r.metric(t, name); !maps.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	expect("holdfast.breaker.transitions", map[string]point{
		"breaker=redis to=closed": {}, "breaker=redis to=half-open": {}, "breaker=redis to=open": {},
	})
	expect("holdfast.breaker.status", map[string]point{
		"breaker=redis state=closed": {n: 1}, "breaker=redis state=half-open": {}, "breaker=redis state=open": {},
	})
	b.move("open")
	b.open = 1500 * time.Millisecond
	expect("holdfast.breaker.transitions", map[string]point{
		"breaker=redis to=closed": {}, "breaker=redis to=half-open": {}, "breaker=redis to=open": {n: 1},
	})
	expect("holdfast.breaker.status", map[string]point{
		"breaker=redis state=closed": {}, "breaker=redis state=half-open": {}, "breaker=redis state=open": {n: 1},
	})
	expect("holdfast.degraded.time", map[string]point{"breaker=redis": {n: 1.5}})
}

// Two Clients have a breaker each, with one name and one meter provider.
func TestBreakersOfOneNameAddUp(t *testing.T) {
	r := newRig(t)
	other := newTelemetry(t, WithMeterProvider(r.meters))
	for _, tel := range []*Telemetry{r.Telemetry, other} {
		b := newFakeBreaker("redis")
		b.move("open")
		if err := tel.WatchBreaker(b.Breaker()); err != nil {
			t.Fatal(err)
		}
	}
	open := func() float64 { return r.metric(t, "holdfast.breaker.status")["breaker=redis state=open"].n }
	if n := open(); n != 2 {
		t.Errorf("%v breakers are open, want 2", n)
	}
	other.Close(t.Context())
	if n := open(); n != 1 {
		t.Errorf("%v breakers are open after one was closed, want 1", n)
	}
}

func TestWatchBreakerRefuses(t *testing.T) {
	r := newRig(t)
	whole := newFakeBreaker("redis").Breaker()
	for name, spoil := range map[string]func(*Breaker){
		"name":       func(b *Breaker) { b.Name = "" },
		"state":      func(b *Breaker) { b.State = nil },
		"open time":  func(b *Breaker) { b.OpenTime = nil },
		"transition": func(b *Breaker) { b.OnTransition = nil },
	} {
		b := whole
		spoil(&b)
		if err := r.WatchBreaker(b); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("without %s: error %v, want ErrInvalid", name, err)
		}
	}
	r.Close(t.Context())
	if err := r.WatchBreaker(whole); !errors.Is(err, client.ErrClosed) {
		t.Errorf("after Close: error %v, want ErrClosed", err)
	}
}
