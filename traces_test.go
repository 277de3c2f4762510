package holdfast_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// traced is a Client on a simulated Redis whose redis client is instrumented, and
// the spans of both.
type traced struct {
	*testing.T
	*holdfast.Client
	proxy  *redistest.Proxy
	tracer trace.Tracer
	spans  *tracetest.SpanRecorder
}

// newTraced records every span whose trace is sampled, as the SDK does by default.
func newTraced(t *testing.T, opts ...holdfast.Option) *traced {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	proxy := redistest.NewSim(t).Proxy()
	rdb := proxy.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
	// go-redis dials under a context of its own, so it is on its own there.
	err := redisotel.InstrumentTracing(rdb, redisotel.WithTracerProvider(tracers), redisotel.WithDialFilter(true))
	if err != nil {
		t.Fatal(err)
	}
	c, err := holdfast.New(rdb, append([]holdfast.Option{
		holdfast.WithTracerProvider(tracers),
		holdfast.WithLogger(slog.New(slog.DiscardHandler)),
		holdfast.WithTTL(3 * time.Second),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	tr := &traced{t, c, proxy, tracers.Tracer("test"), spans}
	l, err := c.Acquire(t.Context(), "warm") // connections and scripts
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans.Reset()
	proxy.ResetStats()
	return tr
}

// commands are the ended spans of redis commands.
func (tr *traced) commands() []sdktrace.ReadOnlySpan {
	return slices.DeleteFunc(tr.spans.Ended(), func(s sdktrace.ReadOnlySpan) bool { return s.SpanKind() != trace.SpanKindClient })
}

// within checks that all spans belong to the trace of root.
func (tr *traced) within(root trace.Span) {
	tr.Helper()
	for _, s := range tr.spans.Ended() {
		if s.SpanContext().TraceID() != root.SpanContext().TraceID() {
			tr.Errorf("span %q is of another trace; it is a root: %v", s.Name(), !s.Parent().IsValid())
		}
	}
}

// What an instrumented redis client records of a lease is the acquire and the
// release, inside the caller's trace: none of the renewals.
func TestRenewalsOpenNoTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTraced(t)
		ctx, root := tr.tracer.Start(t.Context(), "request")
		l, err := tr.Acquire(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(4*time.Second + 500*time.Millisecond)
		if n := extends(tr.proxy.Commands()); n < 4 {
			t.Fatalf("%d renewals", n)
		}
		if err := l.Release(ctx); err != nil {
			t.Fatal(err)
		}
		root.End()
		tr.within(root)
		var parents []string
		for _, s := range tr.commands() {
			for _, p := range tr.spans.Ended() {
				if p.SpanContext().SpanID() == s.Parent().SpanID() {
					parents = append(parents, s.Name()+" of "+p.Name())
				}
			}
		}
		if want := []string{"evalsha of acquire default", "evalsha of request"}; !slices.Equal(parents, want) {
			t.Errorf("commands with a span: %q, want %q", parents, want)
		}
	})
}

func TestCleanUpOpensNoTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTraced(t)
		ctx, root := tr.tracer.Start(t.Context(), "request")
		tr.proxy.DropRepliesSilently(1)
		if _, err := tr.Acquire(ctx, "k", holdfast.WithWaitTimeout(100*time.Millisecond)); !errors.Is(err, holdfast.ErrUnavailable) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		root.End()
		if n := len(tr.proxy.Commands()); n < 2 {
			t.Fatalf("%d commands: there was no clean-up", n)
		}
		tr.within(root)
		if n := len(tr.commands()); n != 1 {
			t.Errorf("%d commands have a span, want that of the acquire", n)
		}
	})
}

func TestProbesOpenNoTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTraced(t)
		ctx, root := tr.tracer.Start(t.Context(), "request")
		tr.proxy.Refuse(true)
		tr.proxy.Reset()
		for range 10 { // the breaker opens
			if _, err := tr.TryAcquire(ctx, "k"); !errors.Is(err, holdfast.ErrUnavailable) {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Second)
		tr.proxy.Refuse(false)
		time.Sleep(10 * time.Second)
		if n := tr.proxy.Stats().Commands["SET"]; n == 0 {
			t.Fatal("there was no probe")
		}
		l, err := tr.TryAcquire(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(ctx); err != nil {
			t.Fatal(err)
		}
		root.End()
		tr.within(root)
		for _, s := range tr.commands() {
			if s.Name() == "set" {
				t.Error("a probe has a span")
			}
		}
	})
}
