package fallback

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// Observers hear of each transition, in order, outside of every lock: they may use
// the breaker, and panic.
func TestOnTransition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{breaker: BreakerConfig{ProbeInterval: never}})
		var got []string
		r.b.OnTransition(func(State, State) { panic("observer") })
		r.b.OnTransition(func(from, to State) {
			if s := r.b.State(); s != to {
				t.Errorf("State is %v in the transition to %v", s, to)
			}
			r.b.OpenTime()
			r.b.Since()
			r.b.OnTransition(func(State, State) {})
			got = append(got, fmt.Sprintf("%v>%v", from, to))
		})
		r.down()
		r.trip()
		time.Sleep(DefaultOpenTimeout + time.Millisecond)
		r.try("k")
		r.up()
		time.Sleep(DefaultOpenTimeout + time.Millisecond)
		lease, err := r.try("k")
		if err != nil {
			t.Fatal(err)
		}
		lease.Release(context.Background())
		want := []string{"closed>open", "open>half-open", "half-open>open", "open>half-open", "half-open>closed"}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		lines := r.logs.with("circuit breaker ")
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "panic") })
		wantLines := []string{
			"WARN holdfast: circuit breaker open breaker=redis from=closed reason=5 of 5 commands failed within 5s",
			"INFO holdfast: circuit breaker half-open breaker=redis from=open after=2.001s",
			"WARN holdfast: circuit breaker open breaker=redis from=half-open reason=a trial failed",
			"INFO holdfast: circuit breaker half-open breaker=redis from=open after=",
			"INFO holdfast: circuit breaker closed breaker=redis from=half-open after=",
		}
		if !slices.EqualFunc(lines, wantLines, strings.HasPrefix) {
			t.Errorf("lines of log:\n%s", strings.Join(lines, "\n"))
		}
		if n := len(r.logs.with("panic=observer")); n != 5 {
			t.Errorf("%d panics were logged", n)
		}
	})
}

// An observer that takes its time delays nobody else, and hears of all in order.
func TestTransitionsAreDeliveredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{breaker: BreakerConfig{ProbeInterval: never}})
		heard := make(chan State, 9)
		r.b.OnTransition(func(_, to State) {
			time.Sleep(time.Minute)
			heard <- to
		})
		var wg sync.WaitGroup
		for range DefaultMinRequests {
			wg.Go(func() { r.b.vote(client.Faulty) })
		}
		synctest.Wait()
		time.Sleep(DefaultOpenTimeout + time.Millisecond)
		r.b.vote(client.Healthy)
		r.wantState(Closed)
		if n := len(heard); n != 0 {
			t.Fatalf("%d transitions were delivered", n)
		}
		wg.Wait()
		close(heard)
		var got []State
		for s := range heard {
			got = append(got, s)
		}
		if !slices.Equal(got, []State{Open, HalfOpen, Closed}) {
			t.Errorf("delivered %v", got)
		}
	})
}

func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{breaker: BreakerConfig{Name: "orders", ProbeInterval: never}})
		want := func(state State, since, open time.Duration) {
			t.Helper()
			r.wantState(state)
			if got := time.Since(r.b.Since()); got != since {
				t.Errorf("%v since %v, want %v", state, got, since)
			}
			if got := r.b.OpenTime(); got != open {
				t.Errorf("open for %v, want %v", got, open)
			}
		}
		if r.b.Name() != "orders" {
			t.Errorf("name is %q", r.b.Name())
		}
		time.Sleep(time.Minute)
		want(Closed, time.Minute, 0)
		r.trip()
		time.Sleep(7 * time.Second)
		want(Open, 7*time.Second, 7*time.Second) // to ask does not move it
		r.b.vote(client.Faulty)
		time.Sleep(3 * time.Second)
		want(Open, 3*time.Second, 10*time.Second)
		r.b.vote(client.Healthy)
		time.Sleep(time.Hour)
		want(Closed, time.Hour, 10*time.Second)
		r.trip()
		time.Sleep(time.Second)
		want(Open, time.Second, 11*time.Second)
	})
}

func TestStateString(t *testing.T) {
	for s, want := range map[State]string{Closed: "closed", HalfOpen: "half-open", Open: "open", 9: "unknown"} {
		if got := s.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// C114: whatever happens at a time, the breaker ends closed once Redis is well, and
// its books agree with themselves.
func TestConcurrentTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSim(t, setup{
			breaker: BreakerConfig{Window: time.Second, OpenTimeout: 211 * time.Millisecond,
				ProbeInterval: 101 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)},
			options: []client.Option{client.WithCommandTimeout(203 * time.Millisecond)},
		})
		last := Closed
		r.b.OnTransition(func(from, to State) {
			if from != last {
				t.Errorf("from %v after %v", from, last)
			}
			last = to
		})
		for range 3 {
			ctx, cancel := context.WithTimeout(context.Background(), 1301*time.Millisecond)
			r.proxy.Cut()
			var wg sync.WaitGroup
			for i := range 10 {
				wg.Go(func() {
					for ctx.Err() == nil {
						call, cancel := context.WithTimeout(ctx, 53*time.Millisecond)
						if lease, err := r.TryAcquire(call, fmt.Sprint(i)); err == nil {
							lease.Release(ctx)
						}
						cancel()
						time.Sleep(37 * time.Millisecond)
					}
				})
			}
			time.Sleep(701 * time.Millisecond)
			if r.b.State() == Closed {
				t.Error("the breaker did not open")
			}
			r.proxy.Heal()
			wg.Wait()
			cancel()
			time.Sleep(2 * time.Second)
			r.wantState(Closed)
		}
	})
}
