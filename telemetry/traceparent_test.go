package telemetry

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestParseTraceparent(t *testing.T) {
	sc, ok := parseTraceparent(traceparent)
	if !ok || !sc.IsValid() || !sc.IsSampled() || !sc.IsRemote() || formatTraceparent(sc) != traceparent {
		t.Errorf("parsed to %+v, %v", sc, ok)
	}
	for name, s := range map[string]string{
		"empty":         "",
		"short":         traceparent[:54],
		"long":          traceparent + "-",
		"version":       "01" + traceparent[2:],
		"version ff":    "ff" + traceparent[2:],
		"upper case":    "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
		"upper span":    "00-0af7651916cd43dd8448eb211c80319c-B7AD6B7169203331-01",
		"upper flags":   "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0A",
		"no digit":      "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
		"zero trace":    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"zero span":     "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"bad flags":     "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x",
		"bad separator": "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
		"bad last one":  "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331_01",
	} {
		if sc, ok := parseTraceparent(s); ok {
			t.Errorf("%s: %q parsed to %+v", name, s, sc)
		}
	}
}

// What is taken must be what the propagator of OpenTelemetry takes for the same,
// and come out again as it went in.
func FuzzParseTraceparent(f *testing.F) {
	f.Add(traceparent)
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff")
	f.Add("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-00")
	f.Add("00-00000000000000000000000000000000-0000000000000000-00")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		sc, ok := parseTraceparent(s)
		if !ok {
			if sc.IsValid() {
				t.Fatalf("%q was refused, with %+v", s, sc)
			}
			return
		}
		ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": s})
		want := trace.SpanContextFromContext(ctx)
		if want.IsValid() && (want.TraceID() != sc.TraceID() || want.SpanID() != sc.SpanID() || want.IsSampled() != sc.IsSampled()) {
			t.Fatalf("%q parsed to %+v, the propagator has %+v", s, sc, want)
		}
		if !sc.IsValid() || !sc.IsRemote() || formatTraceparent(sc)[:atFlags] != s[:atFlags] {
			t.Fatalf("%q parsed to %+v", s, sc)
		}
	})
}
