package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/backoff"
	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/fallback"
	"github.com/holdfast-go/holdfast/middleware"
	"github.com/holdfast-go/holdfast/telemetry"
)

// granted is a core that grants in memory: what is left are the Client, its lease,
// and the layers.
func granted(client.Handler) client.Handler {
	return func(_ context.Context, req client.Request) (*client.Lease, error) { return client.NewLocalLease(req) }
}

func passThrough(next client.Handler) client.Handler {
	return func(ctx context.Context, req client.Request) (*client.Lease, error) { return next(ctx, req) }
}

// BenchmarkLayer is an acquire and a release through a Client with that layer
// alone, to be compared with the bare one.
func BenchmarkLayer(b *testing.B) {
	quiet := slog.New(slog.DiscardHandler)
	retry, err := backoff.Retry()
	if err != nil {
		b.Fatal(err)
	}
	breaker, err := fallback.NewBreaker(fallback.BreakerConfig{Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	degrade, err := fallback.Degrade(breaker, fallback.Policies{})
	if err != nil {
		b.Fatal(err)
	}
	signals, err := telemetry.New(
		telemetry.WithTracerProvider(tracenoop.NewTracerProvider()), telemetry.WithMeterProvider(metricnoop.NewMeterProvider()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { signals.Close(context.Background()) })
	for _, bc := range []struct {
		name   string
		layers []client.Middleware
	}{
		{"bare", nil},
		{"timeout", []client.Middleware{middleware.Timeout(0)}},
		{"log", []client.Middleware{middleware.Log(quiet)}},
		{"gate", []client.Middleware{middleware.Gate()}},
		{"degrade", []client.Middleware{degrade}},
		{"retry", []client.Middleware{retry}},
		{"breaker", []client.Middleware{breaker.Middleware()}},
		{"attempt timeout", []client.Middleware{middleware.AttemptTimeout(holdfast.DefaultAttemptTimeout)}},
		{"telemetry no-op", []client.Middleware{signals.Middleware(), signals.Attempts()}},
	} {
		b.Run(bc.name, func(b *testing.B) { benchmarkLayers(b, bc.layers...) })
	}
}

// BenchmarkChain is the same through a number of layers that do nothing.
func BenchmarkChain(b *testing.B) {
	for _, n := range []int{0, 1, 4, 16} {
		b.Run(fmt.Sprintf("layers=%d", n), func(b *testing.B) {
			benchmarkLayers(b, slices.Repeat([]client.Middleware{passThrough}, n)...)
		})
	}
}

func benchmarkLayers(b *testing.B, layers ...client.Middleware) {
	benchmarkPair(b, func(rdb redis.UniversalClient) (*client.Client, error) {
		return client.New(rdb, client.WithMiddleware(append(slices.Clone(layers), granted)...))
	})
}

// BenchmarkPipeline is the same through the whole recommended pipeline.
func BenchmarkPipeline(b *testing.B) {
	for _, t := range []struct {
		name string
		opts []holdfast.Option
	}{
		{"without telemetry", []holdfast.Option{
			holdfast.Replace(holdfast.LayerTelemetry, nil), holdfast.Replace(holdfast.LayerAttempts, nil)}},
		{"telemetry no-op", []holdfast.Option{
			holdfast.WithTracerProvider(tracenoop.NewTracerProvider()), holdfast.WithMeterProvider(metricnoop.NewMeterProvider())}},
	} {
		b.Run(t.name, func(b *testing.B) {
			benchmarkPair(b, func(rdb redis.UniversalClient) (*client.Client, error) {
				return holdfast.New(rdb, append(t.opts, holdfast.WithAttemptMiddleware(granted))...)
			})
		})
	}
}

// benchmarkPair needs no server: the client of Redis is never asked for anything.
func benchmarkPair(b *testing.B, open func(redis.UniversalClient) (*client.Client, error)) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	b.Cleanup(func() { rdb.Close() })
	c, err := open(rdb)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.Cleanup(func() { c.Close(ctx) })
	b.ReportAllocs()
	for b.Loop() {
		l, err := c.Acquire(ctx, "k")
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Release(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
