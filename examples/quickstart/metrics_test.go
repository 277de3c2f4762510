package main

import (
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	bounds := []float64{0.001, 0.01, 0.1}
	for name, tt := range map[string]struct {
		buckets []uint64
		q       float64
		want    time.Duration
	}{
		"nothing":                  {nil, 0.5, 0},
		"empty":                    {[]uint64{0, 0, 0, 0}, 0.5, 0},
		"first bucket":             {[]uint64{10, 0, 0, 0}, 0.5, 500 * time.Microsecond},
		"middle of one bucket":     {[]uint64{0, 10, 0, 0}, 0.5, 5500 * time.Microsecond},
		"end of a bucket":          {[]uint64{5, 0, 5, 0}, 0.5, time.Millisecond},
		"over an empty bucket":     {[]uint64{5, 0, 5, 0}, 1, 100 * time.Millisecond},
		"beyond the highest bound": {[]uint64{1, 0, 0, 9}, 0.99, 100 * time.Millisecond},
	} {
		h := histogram{bounds: bounds, buckets: tt.buckets}
		if got := h.quantile(tt.q); got.Round(time.Microsecond) != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

func TestMetricsAddUp(t *testing.T) {
	m := metrics{
		{Name: "wait", Attrs: map[string]string{"class": "a", "outcome": "acquired"}, Bounds: []float64{1}, Buckets: []uint64{1, 2}},
		{Name: "wait", Attrs: map[string]string{"class": "a", "outcome": "timeout"}, Bounds: []float64{1}, Buckets: []uint64{5, 0}},
		{Name: "wait", Attrs: map[string]string{"class": "a", "outcome": "acquired"}, Bounds: []float64{1}, Buckets: []uint64{10, 20}},
		{Name: "wait", Attrs: map[string]string{"class": "b", "outcome": "acquired"}, Bounds: []float64{1}, Buckets: []uint64{100, 0}},
		{Name: "tries", Attrs: map[string]string{"class": "a", "result": "held"}, Value: 3},
		{Name: "tries", Attrs: map[string]string{"class": "a", "result": "held"}, Value: 4},
	}
	a := map[string]string{"class": "a"}
	if h := m.histogram("wait", map[string]string{"class": "a", "outcome": "acquired"}); h.count() != 33 || h.buckets[0] != 11 {
		t.Errorf("got %v", h)
	}
	if got := list(m.by("outcome", "wait", a)); got != "acquired 33, timeout 5" {
		t.Errorf("got %s", got)
	}
	if got := list(m.by("result", "tries", a)); got != "held 7" {
		t.Errorf("got %s", got)
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                       "0.0 ms",
		1240 * time.Microsecond: "1.2 ms",
		45 * time.Millisecond:   "45 ms",
		1500 * time.Millisecond: "1.50 s",
	} {
		if got := short(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}
