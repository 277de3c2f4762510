package telemetry

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/client"
)

// simulated returns a Redis inside the synctest bubble of t.
func simulated(t *testing.T) (*miniredis.Miniredis, *redis.Client) {
	t.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", MaxRetries: -1,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
	})
	t.Cleanup(func() {
		rdb.Close()
		m.Close()
	})
	return m, rdb
}

// on returns a Client with the layers of tel, on the given Redis.
func on(t *testing.T, rdb redis.UniversalClient, tel *Telemetry, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(rdb, append(opts, client.WithLogger(slog.New(slog.DiscardHandler)), client.WithPipeline(func(a *client.Assembly) ([]client.Layer, error) {
		a.InBackground(tel.Background)
		return []client.Layer{{Name: "telemetry", Middleware: tel.Middleware()}, {Name: "attempts", Middleware: tel.Attempts()}}, nil
	}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// spanPerCommand does what the instrumentation of go-redis does.
type spanPerCommand struct{ tracer trace.Tracer }

func (h spanPerCommand) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h spanPerCommand) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		ctx, span := h.tracer.Start(ctx, "redis command", trace.WithSpanKind(trace.SpanKindClient))
		defer span.End()
		return next(ctx, cmd)
	}
}

func (h spanPerCommand) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		ctx, span := h.tracer.Start(ctx, "redis pipeline", trace.WithSpanKind(trace.SpanKindClient))
		defer span.End()
		return next(ctx, cmds)
	}
}
