package telemetry

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// C123: 10,000 keys, acquired, refused, failed, lost and released, make no more
// series than one key does, and neither a key, a token nor an address gets into any.
func TestKeysMakeNoSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := newClient(t, r.Middleware(), r.Attempts(), func(client.Handler) client.Handler {
			return func(_ context.Context, req client.Request) (*client.Lease, error) {
				switch req.Key[len(req.Key)-1] {
				case '1':
					held := &client.HeldError{Holder: "secret-host/1", Traceparent: traceparent}
					req.Call().Blocked(held)
					return nil, &client.Error{Op: "acquire", Key: req.Key, Err: held}
				case '2':
					return nil, &client.Error{Op: "acquire", Key: req.Key,
						Err: fmt.Errorf("%w: dial tcp secret-host:6379: no lock %s", client.ErrUnavailable, req.Key)}
				case '3':
					return nil, errors.New("my layer does not like " + req.Key)
				}
				return client.NewLocalLease(req)
			}
		})
		var tokens []string
		for i := range 10_000 {
			l, err := c.Acquire(context.Background(), fmt.Sprintf("secret-key-%d", i), client.WithTTL(time.Second))
			if err != nil {
				continue
			}
			tokens = append(tokens, l.Token())
			if i%10 != 4 { // the others are lost
				release(t, l)
			}
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()

		check := func(what, text string) {
			if strings.Contains(text, "secret-key") || slices.ContainsFunc(tokens[:100], func(tk string) bool { return strings.Contains(text, tk) }) {
				t.Errorf("%s shows a key or a token: %s", what, text)
			}
		}
		for _, m := range r.collect(t) {
			series := points(t, m)
			if len(series) > 50 {
				t.Errorf("%s has %d series", m.Name, len(series))
			}
			for attrs := range series {
				check(m.Name, attrs)
				if strings.Contains(attrs, "secret") || strings.Contains(attrs, "overflow") {
					t.Errorf("%s has a series %s", m.Name, attrs)
				}
			}
		}
		if n := len(r.hub.series.m); n > 50 {
			t.Errorf("%d series are kept", n)
		}
		for _, s := range r.spans.Ended() {
			check("span "+s.Name(), text(s.Attributes())+s.Status().Description+s.Name())
		}
		if n := r.metric(t, "holdfast.lease.losses")["class=default reason=expired"].n; n != 1000 {
			t.Errorf("%v leases were lost, want 1000", n)
		}
	})
}

// C124: with no SDK, neither 20,000 locks nor 20,000 Telemetries leave anything
// behind, not even those that nobody closes.
func TestNothingLeaks(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	grows := func(name string, use func(i int)) {
		for i := range 100 {
			use(i)
		}
		before := heap()
		for i := range 20_000 {
			use(i)
		}
		if after := heap(); after > before+1<<20 {
			t.Errorf("%s: the heap grew by %d KiB", name, (after-before)>>10)
		}
	}
	tel := newTelemetry(t)
	defer tel.hub.collected.Store(false)
	ctx := context.Background()
	for name, active := range map[string]bool{"idle": false, "measured": true} {
		tel.hub.collected.Store(active)
		c := newClient(t, tel.Middleware(), tel.Attempts(), local)
		grows("locks, "+name, func(i int) {
			l, err := c.Acquire(ctx, fmt.Sprintf("key-%d", i), client.WithClass(fmt.Sprintf("class-%d", i)))
			if err != nil {
				t.Fatal(err)
			}
			release(t, l)
		})
	}
	grows("telemetries closed", func(int) {
		tel, err := New()
		if err != nil {
			t.Fatal(err)
		}
		if err := tel.Close(ctx); err != nil {
			t.Fatal(err)
		}
	})
	grows("telemetries not closed", func(int) {
		if _, err := New(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestBackground(t *testing.T) {
	r := newRig(t)
	ctx, outer := r.tracers.Tracer("caller").Start(context.Background(), "request")
	defer outer.End()
	_, span := r.tracers.Tracer("redis").Start(r.Background(ctx), "command")
	defer span.End()
	sc := span.SpanContext()
	if sc.IsSampled() || span.IsRecording() || sc.TraceID() != r.background.TraceID() || sc.TraceID() == outer.SpanContext().TraceID() {
		t.Errorf("a command in the background has span %+v", sc)
	}
	if !r.background.IsValid() || newRig(t).background.TraceID() == r.background.TraceID() {
		t.Error("the trace in the background is not one of its own")
	}
}
