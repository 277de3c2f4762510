package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// metrics are the series of all workers.
type metrics []series

// histogram adds the series of a histogram up that have all of attrs.
func (m metrics) histogram(name string, attrs map[string]string) (h histogram) {
	for _, s := range m {
		if s.Name != name || !s.has(attrs) {
			continue
		}
		if h.buckets == nil {
			h.bounds, h.buckets = s.Bounds, make([]uint64, len(s.Buckets))
		}
		for i, n := range s.Buckets {
			h.buckets[i] += n
		}
	}
	return h
}

// by adds the series with attrs up, one sum for each value of the attribute key.
func (m metrics) by(key, name string, attrs map[string]string) map[string]uint64 {
	sums := make(map[string]uint64)
	for _, s := range m {
		if s.Name == name && s.has(attrs) {
			sums[s.Attrs[key]] += s.total()
		}
	}
	return sums
}

func (s series) has(attrs map[string]string) bool {
	for k, v := range attrs {
		if s.Attrs[k] != v {
			return false
		}
	}
	return true
}

// total is the value of a counter, or the count of a histogram.
func (s series) total() uint64 {
	n := uint64(s.Value)
	for _, b := range s.Buckets {
		n += b
	}
	return n
}

type histogram struct {
	bounds  []float64 // seconds
	buckets []uint64  // one more than bounds
}

func (h histogram) count() (n uint64) {
	for _, b := range h.buckets {
		n += b
	}
	return n
}

// quantile estimates the q-quantile as if the values lay evenly in each bucket.
func (h histogram) quantile(q float64) time.Duration {
	if h.count() == 0 {
		return 0
	}
	rank, lower := q*float64(h.count()), 0.0
	for i, n := range h.buckets {
		if i == len(h.bounds) {
			break // no upper bound: the lower one is what is known
		}
		if n > 0 && rank <= float64(n) {
			lower += (h.bounds[i] - lower) * rank / float64(n)
			break
		}
		rank -= float64(n)
		lower = h.bounds[i]
	}
	return time.Duration(lower * float64(time.Second))
}

// list writes sums as "granted 210, held 31", the greatest first.
func list(sums map[string]uint64) string {
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return int(sums[b]) - int(sums[a])
	})
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = fmt.Sprintf("%s %d", k, sums[k])
	}
	return strings.Join(parts, ", ")
}
