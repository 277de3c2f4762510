package holdfast_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// process plays one process: a Client, and the spans that it sends.
type process struct {
	*holdfast.Client
	spans *tracetest.SpanRecorder
}

func newProcess(t *testing.T, proxy *redistest.Proxy, name string, sampler sdktrace.Sampler) *process {
	t.Helper()
	p := &process{spans: tracetest.NewSpanRecorder()}
	c, err := holdfast.New(proxy.Client(t, func(o *redis.Options) { o.MaxRetries = -1 }),
		holdfast.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p.spans), sdktrace.WithSampler(sampler))),
		holdfast.WithLogger(slog.New(slog.DiscardHandler)),
		holdfast.WithIdentity(name), holdfast.WithGate(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	p.Client = c
	return p
}

// holdsFor takes the lock, and has it for d after it got it; the channel tells when
// the lock is free again.
func (p *process) holdsFor(t *testing.T, d time.Duration) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		l, err := p.Acquire(context.Background(), "k")
		if err != nil {
			t.Error(err)
			return
		}
		time.Sleep(d)
		if err := l.Release(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	return done
}

// acquires are the ended acquire spans, in the order in which they ended.
func (p *process) acquires() (all []sdktrace.ReadOnlySpan) {
	for _, s := range p.spans.Ended() {
		if s.Name() == "acquire default" {
			all = append(all, s)
		}
	}
	return all
}

func linksOf(s sdktrace.ReadOnlySpan) (all []string) {
	for _, l := range s.Links() {
		which, _ := attrOf(l.Attributes, "holdfast.blocker")
		all = append(all, which+" "+l.SpanContext.SpanID().String())
	}
	return all
}

func attrOf(kvs []attribute.KeyValue, key attribute.Key) (string, bool) {
	for _, kv := range kvs {
		if kv.Key == key {
			return kv.Value.String(), true
		}
	}
	return "", false
}

// Who waits behind several holders, one after the other, names the first and the last
// of them, whether they are of its own process or of others.
func TestSpanOfWaiterNamesTheCulprits(t *testing.T) {
	for _, tc := range []struct {
		name    string
		holders []string // the processes of those who have the lock before the waiter, of process w
		local   bool
	}{
		{"handed over by another process", []string{"a"}, false},
		{"by the last of several processes", []string{"a", "b", "c"}, false},
		{"behind one of its own process", []string{"w"}, true},
		{"behind several of its own process", []string{"w", "w", "w"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				proxy := redistest.NewSim(t).Proxy()
				procs := make(map[string]*process)
				for _, name := range []string{"a", "b", "c", "w"} {
					procs[name] = newProcess(t, proxy, name, sdktrace.AlwaysSample())
				}
				var ends []<-chan struct{}
				for i, name := range append(tc.holders, "w") {
					ends = append(ends, procs[name].holdsFor(t, time.Duration(4099+i)*time.Millisecond))
					time.Sleep(101 * time.Millisecond)
				}
				for _, end := range ends {
					<-end
				}
				spanOf := func(i int) sdktrace.ReadOnlySpan {
					before := 0
					for _, name := range tc.holders[:i] {
						if name == tc.holders[i] {
							before++
						}
					}
					return procs[tc.holders[i]].acquires()[before]
				}
				own := procs["w"].acquires()
				s := own[len(own)-1]
				want := []string{"first " + spanOf(0).SpanContext().SpanID().String()}
				if last := len(tc.holders) - 1; last > 0 {
					want = append(want, "last "+spanOf(last).SpanContext().SpanID().String())
				}
				if got := fmt.Sprint(linksOf(s)); got != fmt.Sprint(want) {
					t.Errorf("links %s, want %v; attributes %v", got, want, s.Attributes())
				}
				if who, _ := attrOf(s.Attributes(), "holdfast.holder.identity"); who != tc.holders[len(tc.holders)-1] {
					t.Errorf("the holder is %q, want %q", who, tc.holders[len(tc.holders)-1])
				}
				if _, local := attrOf(s.Attributes(), "holdfast.holder.local"); local != tc.local {
					t.Errorf("holder.local is %v, want %v", local, tc.local)
				}
				if heldFor, _ := attrOf(s.Attributes(), "holdfast.holder.held_for"); heldFor < "3.9" || heldFor > "4.3" {
					t.Errorf("held_for is %s, want some 4.1", heldFor)
				}
			})
		})
	}
}

// A lock that passes from one to the next of a process without a word to Redis has them
// named all the same.
func TestSpanOfWaiterOfALocalHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newProcess(t, redistest.NewSim(t).Proxy(), "w", sdktrace.AlwaysSample())
		<-w.holdsFor(t, 0) // connections and scripts
		var ends []<-chan struct{}
		for range 3 {
			ends = append(ends, w.holdsFor(t, 5*time.Millisecond))
			time.Sleep(time.Millisecond)
		}
		for _, end := range ends {
			<-end
		}
		spans := w.acquires()[1:]
		want := fmt.Sprintf("[first %s last %s]", spans[0].SpanContext().SpanID(), spans[1].SpanContext().SpanID())
		wake, _ := attrOf(spans[2].Attributes(), "holdfast.wake")
		if got := fmt.Sprint(linksOf(spans[2])); got != want || wake != "local" {
			t.Errorf("links %s and wake %q, want %s and local", got, wake, want)
		}
	})
}

// A holder whose trace is not sampled has no span to link to: its waiters tell of it
// by attributes alone.
func TestSpanOfWaiterBehindUnsampledHolders(t *testing.T) {
	for _, holder := range []string{"a", "w"} {
		synctest.Test(t, func(t *testing.T) {
			proxy := redistest.NewSim(t).Proxy()
			never := newProcess(t, proxy, holder, sdktrace.NeverSample())
			w := newProcess(t, proxy, "w", sdktrace.AlwaysSample())
			end := never.holdsFor(t, 2099*time.Millisecond)
			time.Sleep(101 * time.Millisecond)
			<-w.holdsFor(t, 0)
			<-end
			s := w.acquires()[0]
			who, _ := attrOf(s.Attributes(), "holdfast.holder.identity")
			if len(s.Links()) != 0 || who != holder {
				t.Errorf("links %v and holder %q, want none and %q", s.Links(), who, holder)
			}
		})
	}
}

// TryAcquire is told who of this process has the lock, and so is its span.
func TestTryAcquireNamesTheHolderOfThisProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newProcess(t, redistest.NewSim(t).Proxy(), "w", sdktrace.AlwaysSample())
		l, err := w.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.TryAcquire(t.Context(), "k"); err == nil {
			t.Fatal("the lock was taken twice")
		}
		spans := w.acquires()
		if got, want := fmt.Sprint(linksOf(spans[1])), "[first "+spans[0].SpanContext().SpanID().String()+"]"; got != want {
			t.Errorf("links %s, want %s", got, want)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
