package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// signals keep the metrics and spans of one process in memory, where a service has
// an exporter.
type signals struct {
	meters  *sdkmetric.MeterProvider
	reader  *sdkmetric.ManualReader
	tracers *sdktrace.TracerProvider
	spans   *tracetest.InMemoryExporter
}

func newSignals() *signals {
	s := &signals{reader: sdkmetric.NewManualReader(), spans: tracetest.NewInMemoryExporter()}
	s.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(s.reader))
	s.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(s.spans))
	return s
}

// report is what one process has measured and traced, in a form that goes over a
// pipe.
type report struct {
	Series []series `json:"series"`
	Spans  []span   `json:"spans"`
}

// series are the points of one metric with the same attributes: a counter's Value,
// or the Buckets of a histogram, of which the last has no upper bound.
type series struct {
	Name    string            `json:"name"`
	Attrs   map[string]string `json:"attrs"`
	Value   int64             `json:"value,omitempty"`
	Bounds  []float64         `json:"bounds,omitempty"`
	Buckets []uint64          `json:"buckets,omitempty"`
}

// span is a part of a trace.
type span struct {
	Trace  string            `json:"trace"`
	ID     string            `json:"id"`
	Parent string            `json:"parent"`
	Name   string            `json:"name"`
	Start  time.Time         `json:"start"`
	End    time.Time         `json:"end"`
	Attrs  map[string]string `json:"attrs"`
	Links  []link            `json:"links,omitempty"`
	worker int
}

func (s span) duration() time.Duration { return s.End.Sub(s.Start) }

type link struct {
	Span  string            `json:"span"` // its ID
	Attrs map[string]string `json:"attrs"`
}

func (s *signals) report(ctx context.Context) (*report, error) {
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(ctx, &all); err != nil {
		return nil, err
	}
	r := &report{Series: []series{}, Spans: []span{}}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			r.Series = append(r.Series, seriesOf(m)...)
		}
	}
	for _, s := range s.spans.GetSpans() {
		r.Spans = append(r.Spans, spanOf(s))
	}
	return r, nil
}

func seriesOf(m metricdata.Metrics) (all []series) {
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			all = append(all, series{Name: m.Name, Attrs: attrsOf(p.Attributes.ToSlice()), Value: p.Value})
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			all = append(all, series{Name: m.Name, Attrs: attrsOf(p.Attributes.ToSlice()), Bounds: p.Bounds, Buckets: p.BucketCounts})
		}
	}
	return all
}

func spanOf(s tracetest.SpanStub) span {
	out := span{
		Trace: s.SpanContext.TraceID().String(), ID: s.SpanContext.SpanID().String(),
		Name: s.Name, Start: s.StartTime, End: s.EndTime, Attrs: attrsOf(s.Attributes),
	}
	if s.Parent.HasSpanID() {
		out.Parent = s.Parent.SpanID().String()
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, link{Span: l.SpanContext.SpanID().String(), Attrs: attrsOf(l.Attributes)})
	}
	return out
}

func attrsOf(kvs []attribute.KeyValue) map[string]string {
	m := make(map[string]string, len(kvs))
	for _, kv := range kvs {
		m[string(kv.Key)] = kv.Value.String()
	}
	return m
}
