package telemetry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/client"
)

func TestAcquireOutcomes(t *testing.T) {
	held := &client.HeldError{Holder: "host/1"}
	for name, tc := range map[string]struct {
		err    error
		series string
		status codes.Code
	}{
		"contended": {held, "class=default mode=distributed outcome=contended", codes.Unset},
		"timed out while held": {fmt.Errorf("%w: %w", held, context.DeadlineExceeded),
			"class=default mode=distributed outcome=timeout", codes.Unset},
		"timed out while Redis failed": {fmt.Errorf("%w: %w", client.ErrUnavailable, context.DeadlineExceeded),
			"class=default error.type=unavailable mode=distributed outcome=timeout", codes.Unset},
		"canceled": {fmt.Errorf("%w: %w", client.ErrUnavailable, context.Canceled),
			"class=default error.type=unavailable mode=distributed outcome=canceled", codes.Unset},
		"unavailable": {client.ErrUnavailable, "class=default error.type=unavailable mode=distributed outcome=error", codes.Error},
		"refused":     {client.ErrRefused, "class=default error.type=refused mode=distributed outcome=error", codes.Error},
		"a layer's own": {errors.New("closed on Sundays"),
			"class=default error.type=other mode=distributed outcome=rejected", codes.Unset},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c := newClient(t, r.Middleware(), fails(tc.err))
			if _, err := c.Acquire(context.Background(), "key"); !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			got := r.metric(t, "holdfast.acquire.duration")
			if len(got) != 1 || got[tc.series].n != 1 {
				t.Errorf("series %v, want one value of %q", got, tc.series)
			}
			span := r.span(t, "acquire default")
			if span.Status().Code != tc.status {
				t.Errorf("span status %v, want %v", span.Status(), tc.status)
			}
			if attrs := text(span.Attributes()); attrs != "attempts=0 "+tc.series+" wait=true" {
				t.Errorf("span has %q", attrs)
			}
		})
	}
}

// C127: the wait and the hold are told apart, and each is exact.
func TestWaitAndHoldAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, WithHoldSpans())
		contended := func(next client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				time.Sleep(300 * time.Millisecond)
				return next(ctx, req)
			}
		}
		c := newClient(t, r.Middleware(), contended, local)
		l := acquire1(t, c)
		time.Sleep(200 * time.Millisecond)
		if err := l.Extend(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		release(t, l)

		want := map[string]map[string]point{
			"holdfast.acquire.duration": {"class=default mode=degraded outcome=acquired": {1, 0.3}},
			"holdfast.hold.duration":    {"class=default end_reason=released mode=degraded": {1, 0.2}},
			"holdfast.renewal.duration": nil, // nothing was sent
			"holdfast.renewal.headroom": nil,
			"holdfast.release.duration": nil,
		}
		for name, want := range want {
			if got := r.metric(t, name); !maps.Equal(got, want) {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		for name, want := range map[string]time.Duration{
			"acquire default": 300 * time.Millisecond,
			"hold default":    200 * time.Millisecond,
			"release default": 0,
		} {
			if s := r.span(t, name); s.EndTime().Sub(s.StartTime()) != want {
				t.Errorf("span %q took %v, want %v", name, s.EndTime().Sub(s.StartTime()), want)
			}
		}
	})
}

func TestPanicLosesNothing(t *testing.T) {
	r := newRig(t)
	c := newClient(t, r.Middleware(), func(client.Handler) client.Handler {
		return func(context.Context, client.Request) (*client.Lease, error) { panic("a layer's fault") }
	})
	func() {
		defer func() {
			if p := recover(); p != "a layer's fault" {
				t.Errorf("recovered %v", p)
			}
		}()
		acquire1(t, c)
	}()
	if got := r.metric(t, "holdfast.waiter.count")["class=default"]; got.n != 0 {
		t.Errorf("%v waiters are left", got.n)
	}
	if got := r.metric(t, "holdfast.acquire.duration"); got["class=default error.type=panic mode=distributed outcome=error"].n != 1 {
		t.Errorf("acquire.duration is %v", got)
	}
	if s := r.span(t, "acquire default"); s.Status().Code != codes.Error {
		t.Errorf("span status %v", s.Status())
	}
}

func TestAcquireSpan(t *testing.T) {
	r := newRig(t)
	c := newClient(t, r.Middleware(), func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			req.Call().ShortCircuited()
			req.Call().ShortCircuited()
			req.Call().RetrySuppressed()
			return client.NewLocalLease(req)
		}
	})
	ctx, caller := r.tracers.Tracer("caller").Start(context.Background(), "request")
	l, err := c.TryAcquire(ctx, "key", client.WithClass("stock"))
	if err != nil {
		t.Fatal(err)
	}
	defer release(t, l)
	caller.End()
	s := r.span(t, "acquire stock")
	if s.Parent().SpanID() != caller.SpanContext().SpanID() || s.SpanKind() != trace.SpanKindInternal {
		t.Errorf("parent %v, kind %v", s.Parent(), s.SpanKind())
	}
	want := "attempts=0 class=stock mode=degraded outcome=acquired short_circuits=2 wait=false"
	if got := text(s.Attributes()); got != want {
		t.Errorf("attributes %q, want %q", got, want)
	}
	if got := r.metric(t, "holdfast.attempts"); !maps.Equal(got, map[string]point{"class=stock result=short_circuited": {n: 2}}) {
		t.Errorf("attempts are %v", got)
	}
	if got := r.metric(t, "holdfast.retry.suppressed"); !maps.Equal(got, map[string]point{"class=stock": {n: 1}}) {
		t.Errorf("suppressed retries are %v", got)
	}
	if trace.SpanContextFromContext(l.Context()).SpanID() != caller.SpanContext().SpanID() {
		t.Error("the lease's context carries another span than the caller's")
	}
}

func TestKeyIsOnSpansOnlyOnDemand(t *testing.T) {
	const key = "customer \"4711\""
	failure := &client.Error{Op: "acquire", Key: key, Err: fmt.Errorf("%w: no such lock %q", client.ErrRefused, key)}
	for _, on := range []bool{false, true} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			var opts []Option
			if on {
				opts = []Option{WithKeyAttribute()}
			}
			r := newRig(t, opts...)
			for _, core := range []client.Middleware{local, fails(failure)} {
				l, _ := newClient(t, r.Middleware(), core).Acquire(context.Background(), key)
				l.Release(context.Background())
			}
			var seen []string
			for _, s := range r.named("acquire default") {
				seen = append(seen, text(s.Attributes())+" "+s.Status().Description)
			}
			if got := slices.ContainsFunc(seen, func(s string) bool { return strings.Contains(s, "4711") }); got != on {
				t.Errorf("spans show the key: %v, want %v: %q", got, on, seen)
			}
			if len(seen) != 2 || on && !strings.Contains(seen[1], "no such lock") {
				t.Errorf("spans: %q", seen)
			}
		})
	}
}

func TestExemplarsOfTheWait(t *testing.T) {
	r := newRig(t)
	l := acquire1(t, newClient(t, r.Middleware(), local))
	defer release(t, l)
	span := r.span(t, "acquire default").SpanContext().SpanID()
	for _, m := range r.collect(t) {
		if m.Name != "holdfast.acquire.duration" {
			continue
		}
		e := m.Data.(metricdata.Histogram[float64]).DataPoints[0].Exemplars
		if len(e) != 1 || !slices.Equal(e[0].SpanID, span[:]) {
			t.Errorf("exemplars %+v, want span %s", e, span)
		}
	}
}
