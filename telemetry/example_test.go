package telemetry_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/telemetry"
)

// A pipeline with nothing but telemetry in it, and what it tells of a lock that is
// held. With holdfast.New the layers are in their places already.
func Example() {
	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	reader, spans := sdkmetric.NewManualReader(), tracetest.NewInMemoryExporter()
	tel, err := telemetry.New(
		telemetry.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))),
		telemetry.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))),
	)
	if err != nil {
		log.Fatal(err)
	}
	locks, err := client.New(rdb,
		client.WithMiddleware(tel.Middleware(), tel.Attempts()),
		client.WithOnClose(tel.Close))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	defer locks.Close(ctx)

	lease, err := locks.Acquire(ctx, "order-17", client.WithClass("order"))
	if err != nil {
		log.Fatal(err)
	}
	locks.TryAcquire(ctx, "order-17", client.WithClass("order"))

	var metrics metricdata.ResourceMetrics
	reader.Collect(ctx, &metrics)
	for _, m := range metrics.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Histogram[float64]:
			if m.Name == "holdfast.acquire.duration" {
				for _, p := range d.DataPoints {
					outcome, _ := p.Attributes.Value("holdfast.outcome")
					fmt.Println(m.Name, outcome.AsString(), p.Count)
				}
			}
		case metricdata.Sum[int64]:
			if m.Name == "holdfast.waiter.count" {
				fmt.Println(m.Name, d.DataPoints[0].Value)
			}
		}
	}
	lease.Release(ctx)
	for _, s := range spans.GetSpans() {
		fmt.Printf("span %q with %d link\n", s.Name, len(s.Links))
	}
	// Unordered output:
	// holdfast.acquire.duration acquired 1
	// holdfast.acquire.duration contended 1
	// holdfast.waiter.count 0
	// span "acquire order" with 0 link
	// span "acquire order" with 1 link
	// span "release order" with 1 link
}

// Where a program assembles its own pipeline from an instrumented redis client, it
// says which commands nobody waits for.
func ExampleTelemetry_Background() {
	tel, err := telemetry.New()
	if err != nil {
		log.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer rdb.Close()
	locks, err := client.New(rdb, client.WithPipeline(func(a *client.Assembly) ([]client.Layer, error) {
		a.InBackground(tel.Background)
		a.OnClose(tel.Close)
		layers := []client.Layer{{Name: "telemetry", Middleware: tel.Middleware()}}
		layers = append(layers, a.Layers...)
		return append(layers, client.Layer{Name: "attempts", Middleware: tel.Attempts()}), nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(context.Background())
	fmt.Println(locks.Pipeline())
	// Output: [telemetry attempts redis]
}

// Any breaker can be watched; that of package fallback needs its states turned into
// text.
func ExampleTelemetry_WatchBreaker() {
	reader := sdkmetric.NewManualReader()
	tel, err := telemetry.New(telemetry.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))
	if err != nil {
		log.Fatal(err)
	}
	defer tel.Close(context.Background())
	err = tel.WatchBreaker(telemetry.Breaker{
		Name:         "orders",
		State:        func() string { return "open" },
		OpenTime:     func() time.Duration { return 90 * time.Second },
		OnTransition: func(fn func(from, to string)) { fn("closed", "open") },
	})
	if err != nil {
		log.Fatal(err)
	}

	var metrics metricdata.ResourceMetrics
	reader.Collect(context.Background(), &metrics)
	for _, m := range metrics.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Sum[float64]:
			fmt.Println(m.Name, d.DataPoints[0].Value, m.Unit)
		case metricdata.Sum[int64]:
			for _, p := range d.DataPoints {
				if p.Value != 0 {
					fmt.Println(m.Name, p.Attributes.Encoded(attribute.DefaultEncoder()), p.Value)
				}
			}
		}
	}
	// Unordered output:
	// holdfast.degraded.time 90 s
	// holdfast.breaker.status holdfast.breaker=orders,holdfast.state=open 1
	// holdfast.breaker.transitions holdfast.breaker=orders,holdfast.to=open 1
}
