package telemetry

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/holdfast-go/holdfast/client"
)

func fenceOf(l *client.Lease) string {
	f, _ := l.Fence()
	return strconv.FormatUint(f, 10)
}

func TestWaiterLinksToHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		_, rdb := simulated(t)
		holder := on(t, rdb, r.Telemetry, client.WithIdentity("pay-7d/1"), client.WithGate("a"))
		l := acquire1(t, holder)
		time.Sleep(1500 * time.Millisecond)
		waiter := newRig(t)
		if _, err := on(t, rdb, waiter.Telemetry, client.WithGate("b")).Acquire(context.Background(), "key"); !errors.Is(err, client.ErrNotAcquired) {
			t.Fatal(err)
		}
		s := waiter.span(t, "acquire default")
		if got, want := text(s.Attributes()), "attempts=1 class=default holder.held_for=1.5 holder.identity=pay-7d/1 mode=distributed outcome=contended wait=true"; got != want {
			t.Errorf("attributes %q, want %q", got, want)
		}
		held := r.span(t, "acquire default").SpanContext()
		if len(s.Links()) != 1 {
			t.Fatalf("links %v, want one", s.Links())
		}
		link := s.Links()[0]
		if link.SpanContext.SpanID() != held.SpanID() || link.SpanContext.TraceID() != held.TraceID() || !link.SpanContext.IsRemote() {
			t.Errorf("linked to %v, want %v", link.SpanContext, held)
		}
		if got, want := text(link.Attributes), "blocker=first holder.held_for=1.5 holder.identity=pay-7d/1"; got != want {
			t.Errorf("the link has %q, want %q", got, want)
		}
		if s.Parent().IsValid() {
			t.Errorf("the waiter's span has parent %v", s.Parent())
		}
		release(t, l)
	})
}

func TestFirstAndLastBlocker(t *testing.T) {
	const second = "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	for name, tc := range map[string]struct {
		met   []*client.HeldError
		links []string
		span  string
	}{
		"two": {
			[]*client.HeldError{{Holder: "a", Traceparent: traceparent}, {Holder: "b", Traceparent: second}},
			[]string{traceparent + " blocker=first holder.identity=a", second + " blocker=last holder.identity=b"},
			"holder.identity=b",
		},
		"one twice": {
			[]*client.HeldError{{Holder: "a", Traceparent: traceparent}, {Holder: "a", Traceparent: traceparent}},
			[]string{traceparent + " blocker=first holder.identity=a"}, "holder.identity=a",
		},
		"forged": {
			[]*client.HeldError{{Holder: "\xff", Traceparent: traceparent + "\n"}, {Resting: true, Since: time.Now().Add(time.Hour)}},
			nil, "holder.held_for=0 holder.resting=true",
		},
		"of this process": {[]*client.HeldError{{Local: true}}, nil, "holder.local=true"},
		"not UTF-8":       {[]*client.HeldError{{Holder: "caf\xe9"}}, nil, "holder.identity=caf\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c := newClient(t, r.Middleware(), func(client.Handler) client.Handler {
				return func(_ context.Context, req client.Request) (*client.Lease, error) {
					for _, h := range tc.met {
						req.Call().Blocked(h)
					}
					return nil, tc.met[len(tc.met)-1]
				}
			})
			c.Acquire(context.Background(), "key")
			s := r.span(t, "acquire default")
			if want := "attempts=0 class=default " + tc.span + " mode=distributed outcome=contended wait=true"; text(s.Attributes()) != want {
				t.Errorf("attributes %q, want %q", text(s.Attributes()), want)
			}
			if len(s.Links()) != len(tc.links) {
				t.Fatalf("links %v, want %v", s.Links(), tc.links)
			}
			for i, l := range s.Links() {
				if got := formatTraceparent(l.SpanContext) + " " + text(l.Attributes); got != tc.links[i] {
					t.Errorf("link %q, want %q", got, tc.links[i])
				}
			}
		})
	}
}

func TestUnsampledHolderIsNotLinked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rdb := simulated(t)
		tel := newTelemetry(t, WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))))
		c := on(t, rdb, tel)
		l := acquire1(t, c)
		info, err := c.Inspect(context.Background(), "key")
		if err != nil || !info.Held || info.Traceparent != "" {
			t.Errorf("the record has traceparent %q, %v", info.Traceparent, err)
		}
		release(t, l)
	})
}
