package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/redis/go-redis/v9"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/telemetry"
)

// A page for the debug port, and what it says of one lease. With holdfast.New the option
// is holdfast.WithPage, and the page also knows the pipeline and the breaker.
func ExampleNewPage() {
	page := telemetry.NewPage()
	tel, err := telemetry.New(telemetry.WithPage(page), telemetry.WithMeterProvider(sdkmetric.NewMeterProvider()))
	if err != nil {
		log.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer rdb.Close()
	inProcess := func(client.Handler) client.Handler { // in the place of Redis
		return func(_ context.Context, req client.Request) (*client.Lease, error) { return client.NewLocalLease(req) }
	}
	locks, err := client.New(rdb, client.WithMiddleware(tel.Middleware(), inProcess), client.WithOnClose(tel.Close))
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(context.Background())
	lease, err := locks.Acquire(context.Background(), "order-17", client.WithClass("order"))
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Release(context.Background())

	// http.Handle("/debug/holdfast", page)
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest("GET", "/debug/holdfast?format=json", nil))
	var now struct {
		Leases struct {
			Rows []struct {
				Class, Key string
				Degraded   bool
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &now); err != nil {
		log.Fatal(err)
	}
	fmt.Println(now.Leases.Rows, telemetry.HashKey("order-17"))
	// Output: [{order 72a90ea3da8b true}] 72a90ea3da8b
}
