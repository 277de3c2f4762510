package holdfast_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fallback"
)

// app is a process whose locks may be degraded, with all that can be seen of it.
type app struct {
	*holdfast.Client
	reader *sdkmetric.ManualReader
	log    *logged
}

// logged is a log that is written and read at a time.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// hasty is a breaker that opens and closes soon.
var hasty = fallback.BreakerConfig{Window: time.Second, OpenTimeout: 200 * time.Millisecond, ProbeInterval: 100 * time.Millisecond}

// local is the policy of tests in which no other process may have got the lock before.
var local = fallback.Local{MaxTTL: time.Second, UnsafeSkipQuarantine: true}

// app makes a process that reaches the server through the proxy.
func (s *site) app(p fallback.Policy, opts ...holdfast.Option) *app {
	s.Helper()
	a := &app{reader: sdkmetric.NewManualReader(), log: new(logged)}
	rdb := s.proxy.Client(s, func(o *redis.Options) { o.MaxRetries, o.DialerRetries, o.DialTimeout = -1, 1, 300*time.Millisecond })
	a.Client = s.client(rdb, append([]holdfast.Option{
		holdfast.WithTTL(900 * time.Millisecond),
		holdfast.WithLogger(slog.New(slog.NewTextHandler(a.log, nil))),
		holdfast.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(a.reader))),
		holdfast.WithAttemptTimeout(300 * time.Millisecond),
		holdfast.WithCommandTimeout(400 * time.Millisecond),
		holdfast.WithBreaker(hasty),
		holdfast.WithFallback(fallback.Policies{Default: p}),
	}, opts...)...)
	return a
}

// metric is the sum of a metric over the series that have the attribute.
func (a *app) metric(t *testing.T, name, series string) (sum int) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := a.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	label, value, _ := strings.Cut(series, "=")
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					if v, _ := p.Attributes.Value(attribute.Key("holdfast." + label)); v.AsString() == value {
						sum += int(p.Value)
					}
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					if v, _ := p.Attributes.Value(attribute.Key("holdfast." + label)); v.AsString() == value {
						sum += int(p.Count)
					}
				}
			}
		}
	}
	return sum
}

// down has the server out of the app's reach, as where it is killed; up is the end.
func (s *site) down() { s.proxy.Refuse(true); s.proxy.Reset() }
func (s *site) up()   { s.proxy.Refuse(false) }

// degraded acquires until it gets a degraded lease.
func (s *site) degraded(a *app, key string, opts ...holdfast.AcquireOption) *holdfast.Lease {
	s.Helper()
	var lease *holdfast.Lease
	s.await("a degraded lease", func() bool {
		l, err := a.TryAcquire(s.ctx, key, opts...)
		if err == nil && !l.Degraded() {
			s.Fatal("a lease of Redis")
		}
		lease = l
		return err == nil
	})
	return lease
}

// keep extends a lease, which nothing else does while it is degraded, until stopped.
func (s *site) keep(l *holdfast.Lease) (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for ctx.Err() == nil {
			_ = l.Extend(ctx, time.Second)
			time.Sleep(50 * time.Millisecond)
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}
