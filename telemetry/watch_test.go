package telemetry

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/client"
)

// C128: renewals of a lease that was acquired inside a request make no spans in its
// trace, which ended long ago, and none of their own, even where the redis client
// makes one per command.
func TestRenewalsMakeNoSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		_, rdb := simulated(t)
		rdb.AddHook(spanPerCommand{r.tracers.Tracer("redis")})
		c := on(t, rdb, r.Telemetry, client.WithTTL(3*time.Second))
		ctx, request := r.tracers.Tracer("caller").Start(context.Background(), "request")
		l, err := c.Acquire(ctx, "key")
		if err != nil {
			t.Fatal(err)
		}
		request.End()
		acquire := r.span(t, "acquire default").SpanContext().SpanID()
		commands := slices.DeleteFunc(r.named("redis command"), func(s sdktrace.ReadOnlySpan) bool {
			return s.Parent().SpanID() != acquire
		})
		before := len(r.spans.Ended())
		time.Sleep(5500 * time.Millisecond)
		if n := r.metric(t, "holdfast.renewal.duration")["class=default"].n; n < 5 {
			t.Fatalf("%v renewals, want 5", n)
		}
		if all := r.spans.Started(); len(all) != before {
			t.Errorf("renewals made %d spans, the last %q with parent %v", len(all)-before, all[len(all)-1].Name(), all[len(all)-1].Parent())
		}
		if len(commands) == 0 {
			t.Error("no command is a child of the acquire")
		}
		release(t, l)
	})
}

func TestRenewalMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		m, rdb := simulated(t)
		c := on(t, rdb, r.Telemetry, client.WithTTL(3*time.Second))
		l := acquire1(t, c)
		time.Sleep(1500 * time.Millisecond)
		headroom := r.metric(t, "holdfast.renewal.headroom")["class=default"]
		if headroom.n != 1 || headroom.sum < 0.9 || headroom.sum > 1 {
			t.Errorf("headroom is %+v", headroom)
		}
		m.SetError("LOADING dataset in memory")
		time.Sleep(700 * time.Millisecond)
		m.SetError("")
		time.Sleep(time.Second)
		d := r.metric(t, "holdfast.renewal.duration")
		if d["class=default"].n < 2 || d["class=default error.type=unavailable"].n < 1 {
			t.Errorf("renewals are %v", d)
		}
		s := r.span(t, "renew default")
		acquire := r.span(t, "acquire default").SpanContext()
		if s.Parent().IsValid() || len(s.Links()) != 1 || !s.Links()[0].SpanContext.Equal(acquire) || s.Status().Code != codes.Error {
			t.Errorf("renewal span: parent %v, links %v, status %v", s.Parent(), s.Links(), s.Status())
		}
		if took := s.EndTime().Sub(s.StartTime()); took < 100*time.Millisecond || took > 700*time.Millisecond {
			t.Errorf("the renewal span took %v", took)
		}
		release(t, l)
		if d := r.metric(t, "holdfast.release.duration"); !maps.Equal(d, map[string]point{"class=default": {1, d["class=default"].sum}}) {
			t.Errorf("releases are %v", d)
		}
	})
}

func TestFailingRenewalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		m, rdb := simulated(t)
		c := on(t, rdb, r.Telemetry, client.WithTTL(3*time.Second))
		l := acquire1(t, c)
		for range 20 {
			m.SetError("LOADING dataset in memory")
			time.Sleep(1301 * time.Millisecond)
			m.SetError("")
			time.Sleep(1303 * time.Millisecond)
		}
		if n := len(r.named("renew default")); n != maxRenewalSpans {
			t.Errorf("%d spans of failing renewals, want %d", n, maxRenewalSpans)
		}
		release(t, l)
	})
}

// An acquire that was not sampled gets no spans later.
func TestFailingRenewalsFollowTheSampling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewSpanRecorder()
		tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans), sdktrace.WithSampler(notAcquire{}))
		m, rdb := simulated(t)
		l := acquire1(t, on(t, rdb, newTelemetry(t, append(off(), WithTracerProvider(tracers))...), client.WithTTL(3*time.Second)))
		m.SetError("LOADING dataset in memory")
		time.Sleep(1301 * time.Millisecond)
		m.SetError("")
		time.Sleep(1303 * time.Millisecond)
		if n := len(spans.Started()); n != 0 {
			t.Errorf("%d spans, the first %q", n, spans.Started()[0].Name())
		}
		release(t, l)
		if n := len(spans.Ended()); n != 1 {
			t.Errorf("%d spans, want that of the release", n)
		}
	})
}

// notAcquire samples all spans but those of acquires.
type notAcquire struct{}

func (notAcquire) Description() string { return "not acquire" }

func (notAcquire) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if p.Name == "acquire default" {
		return sdktrace.SamplingResult{Decision: sdktrace.Drop}
	}
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
}

func TestLoss(t *testing.T) {
	for name, tc := range map[string]struct {
		lose   func(t *testing.T, c *client.Client, m *miniredis.Miniredis)
		reason string
	}{
		"expired": {func(_ *testing.T, c *client.Client, _ *miniredis.Miniredis) {
			c.Break(context.Background(), "key")
		}, "expired"},
		"taken": {func(t *testing.T, c *client.Client, _ *miniredis.Miniredis) {
			c.Break(context.Background(), "key")
			thief := acquire1(t, c, client.WithTTL(time.Minute), client.WithClass("thief"))
			time.AfterFunc(10*time.Second, func() { release(t, thief) })
		}, "taken"},
		"unreachable": {func(_ *testing.T, _ *client.Client, m *miniredis.Miniredis) {
			m.SetError("LOADING dataset in memory")
		}, "unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, WithHoldSpans())
				m, rdb := simulated(t)
				c := on(t, rdb, r.Telemetry, client.WithTTL(3*time.Second))
				l := acquire1(t, c)
				tc.lose(t, c, m)
				<-l.Context().Done()
				synctest.Wait()
				if !errors.Is(context.Cause(l.Context()), client.ErrLost) {
					t.Fatal(context.Cause(l.Context()))
				}
				losses := r.metric(t, "holdfast.lease.losses")
				if losses["class=default reason="+tc.reason].n != 1 {
					t.Errorf("losses are %v, want one %s", losses, tc.reason)
				}
				if h := r.metric(t, "holdfast.hold.duration"); h["class=default end_reason=lost mode=distributed"].n != 1 {
					t.Errorf("holds are %v", h)
				}
				if n := r.metric(t, "holdfast.lease.count")["class=default mode=distributed"].n; n != 0 {
					t.Errorf("%v leases are counted", n)
				}
				s := r.span(t, "hold default")
				if want := "class=default end_reason=lost error.type=lost fence=" + fenceOf(l) + " mode=distributed reason=" + tc.reason; text(s.Attributes()) != want || s.Status().Code != codes.Error {
					t.Errorf("hold span has %q, status %v; want %q", text(s.Attributes()), s.Status(), want)
				}
				for _, s := range r.spans.Started() {
					if s.EndTime().IsZero() && s.Name() != "hold thief" {
						t.Errorf("span %q has not ended", s.Name())
					}
				}
				m.SetError("")
				time.Sleep(20 * time.Second)
			})
		})
	}
}

func TestReleaseSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		m, rdb := simulated(t)
		c := on(t, rdb, r.Telemetry)
		tracer := r.tracers.Tracer("caller")
		ctx, one := tracer.Start(context.Background(), "one")
		l, err := c.Acquire(ctx, "key")
		if err != nil {
			t.Fatal(err)
		}
		ctx, other := tracer.Start(context.Background(), "other")
		m.SetError("WRONGTYPE of no use")
		if err := l.Release(ctx); !errors.Is(err, client.ErrRefused) {
			t.Fatal(err)
		}
		m.SetError("")
		other.End()
		one.End()
		if n := len(r.named("hold default")); n != 0 {
			t.Errorf("%d hold spans, want none unless asked for", n)
		}
		s := r.span(t, "release default")
		if s.Parent().SpanID() != other.SpanContext().SpanID() || s.SpanKind() != trace.SpanKindInternal {
			t.Errorf("parent %v, kind %v", s.Parent(), s.SpanKind())
		}
		if len(s.Links()) != 1 || !s.Links()[0].SpanContext.Equal(r.span(t, "acquire default").SpanContext()) {
			t.Errorf("links %v, want the acquire", s.Links())
		}
		if got := text(s.Attributes()); got != "class=default error.type=refused mode=distributed" || s.Status().Code != codes.Error {
			t.Errorf("attributes %q, status %v", got, s.Status())
		}
		if d := r.metric(t, "holdfast.release.duration"); d["class=default error.type=refused"].n != 1 {
			t.Errorf("releases are %v", d)
		}
	})
}
