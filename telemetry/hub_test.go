package telemetry

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/holdfast-go/holdfast/client"
)

func TestLiveMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		enter := make(chan struct{})
		c := newClient(t, r.Middleware(), func(next client.Handler) client.Handler {
			return func(ctx context.Context, req client.Request) (*client.Lease, error) {
				<-enter
				return client.NewLocalLease(req)
			}
		})
		expect := func(name string, want map[string]point) {
			t.Helper()
			if got := r.metric(t, name); !maps.Equal(got, want) {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		got := make(chan *client.Lease)
		for range 2 {
			go func() { got <- acquire1(t, c) }()
			synctest.Wait()
			time.Sleep(time.Second)
		}
		expect("holdfast.waiter.count", map[string]point{"class=default": {n: 2}})
		expect("holdfast.waiter.age.max", map[string]point{"class=default": {n: 2}})
		expect("holdfast.lease.count", map[string]point{"class=default mode=degraded": {}, "class=default mode=distributed": {}})
		enter <- struct{}{}
		first := <-got
		time.Sleep(time.Second)
		expect("holdfast.waiter.count", map[string]point{"class=default": {n: 1}})
		expect("holdfast.lease.count", map[string]point{"class=default mode=degraded": {n: 1}, "class=default mode=distributed": {}})
		expect("holdfast.lease.age.max", map[string]point{"class=default mode=degraded": {n: 1}, "class=default mode=distributed": {}})
		enter <- struct{}{}
		second := <-got
		release(t, first)
		expect("holdfast.waiter.age.max", map[string]point{"class=default": {}})
		expect("holdfast.lease.age.max", map[string]point{"class=default mode=degraded": {}, "class=default mode=distributed": {}})
		release(t, second)
		expect("holdfast.lease.count", map[string]point{"class=default mode=degraded": {}, "class=default mode=distributed": {}})
	})
}

// Two Clients, each with its Telemetry, on one meter provider: leases add up, and
// the age is that of the oldest of both, whichever was made last.
func TestTelemetriesOfOneProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		other := newTelemetry(t, WithMeterProvider(r.meters))
		third := newTelemetry(t, WithMeterProvider(r.meters))
		old := acquire1(t, newClient(t, r.Middleware(), local))
		time.Sleep(5 * time.Second)
		young := acquire1(t, newClient(t, other.Middleware(), local))
		time.Sleep(time.Second)
		const series = "class=default mode=degraded"
		live := func() (n, age float64) {
			return r.metric(t, "holdfast.lease.count")[series].n, r.metric(t, "holdfast.lease.age.max")[series].n
		}
		if n, age := live(); n != 2 || age != 6 {
			t.Errorf("%v leases, the oldest %v s old; want 2 and 6", n, age)
		}
		third.Close(t.Context())
		third.Close(t.Context())
		other.Close(t.Context())
		if n, age := live(); n != 2 || age != 6 {
			t.Errorf("with one left: %v leases, the oldest %v s old; want 2 and 6", n, age)
		}
		r.Close(t.Context())
		if got := r.metric(t, "holdfast.lease.count"); len(got) != 0 {
			t.Errorf("with all closed: %v", got)
		}
		release(t, young)
		release(t, old)
		if n := r.metric(t, "holdfast.hold.duration")["class=default end_reason=released mode=degraded"].n; n != 2 {
			t.Errorf("%v holds were recorded after Close, want 2", n)
		}
	})
}

func TestCloseLeavesNoHub(t *testing.T) {
	before := len(hubs.list)
	r, other := newRig(t), newRig(t)
	if n := len(hubs.list) - before; n != 2 {
		t.Errorf("%d hubs for two providers", n)
	}
	r.Close(t.Context())
	other.Close(t.Context())
	if n := len(hubs.list) - before; n != 0 {
		t.Errorf("%d hubs are left", n)
	}
}

// Leases are counted even if a view drops all that would be recorded at once.
func TestLiveMetricsAlone(t *testing.T) {
	r := &rig{reader: sdkmetric.NewManualReader()}
	view := func(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
		s := sdkmetric.Stream{Name: i.Name, Description: i.Description, Unit: i.Unit}
		if i.Kind == sdkmetric.InstrumentKindHistogram || i.Kind == sdkmetric.InstrumentKindCounter {
			s.Aggregation = sdkmetric.AggregationDrop{}
		}
		return s, true
	}
	r.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader), sdkmetric.WithView(view))
	r.Telemetry = newTelemetry(t, WithMeterProvider(r.meters))
	r.collect(t)
	l := acquire1(t, newClient(t, r.Middleware(), local))
	defer release(t, l)
	if n := r.metric(t, "holdfast.lease.count")["class=default mode=degraded"].n; n != 1 {
		t.Errorf("%v leases are counted, want 1", n)
	}
}

// The global providers can be set once in a process, so this runs in its own.
func TestGlobalProvidersSetLate(t *testing.T) {
	const child = "HOLDFAST_TEST_GLOBAL"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestGlobalProvidersSetLate$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	early := newTelemetry(t)
	if err := early.WatchBreaker(newFakeBreaker("redis").Breaker()); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, early.Middleware(), early.Attempts(), local)
	for range 3 {
		release(t, acquire1(t, c))
	}
	if early.tracing.on() || early.hub.active(t.Context()) {
		t.Error("it is active before there is a provider")
	}

	r := &rig{reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader)))
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans)))
	if got := r.metric(t, "holdfast.breaker.transitions"); len(got) != 3 {
		t.Errorf("transitions are %v, want three of 0", got)
	}
	l := acquire1(t, c)
	late := newTelemetry(t)
	if late.hub != early.hub {
		t.Error("one meter provider has two hubs")
	}
	l2 := acquire1(t, newClient(t, late.Middleware(), local))
	if n := r.metric(t, "holdfast.lease.count")["class=default mode=degraded"].n; n != 2 {
		t.Errorf("%v leases are counted, want 2", n)
	}
	if got := r.metric(t, "holdfast.lease.losses"); len(got) != 4 {
		t.Errorf("losses are %v, want four of 0", got)
	}
	release(t, l)
	release(t, l2)
	if n := len(r.named("acquire default")); n != 2 {
		t.Errorf("%d acquire spans, want 2", n)
	}
}
