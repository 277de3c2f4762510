package telemetry

import (
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// label is an attribute that a metric may carry. There are no others.
type label uint8

const (
	labelClass label = iota
	labelOutcome
	labelMode
	labelResult
	labelEndReason
	labelReason
	labelErrorType
	labelBreaker
	labelState
	labelTo
	labelWake
	labelCount
)

var labelKeys = [labelCount]attribute.Key{
	labelClass:     "holdfast.class",
	labelOutcome:   "holdfast.outcome",
	labelMode:      "holdfast.mode",
	labelResult:    "holdfast.result",
	labelEndReason: "holdfast.end_reason",
	labelReason:    "holdfast.reason",
	labelErrorType: "error.type",
	labelBreaker:   "holdfast.breaker",
	labelState:     "holdfast.state",
	labelTo:        "holdfast.to",
	labelWake:      "holdfast.wake",
}

// labels are the attributes of one series; empty ones are absent.
type labels [labelCount]string

func (l labels) attributes() []attribute.KeyValue {
	var kvs []attribute.KeyValue
	for i, v := range l {
		if v != "" {
			kvs = append(kvs, labelKeys[i].String(v))
		}
	}
	return kvs
}

// series is a set of attributes in the forms that the instruments take.
type series struct {
	record  []metric.RecordOption
	add     []metric.AddOption
	observe []metric.ObserveOption
}

// seriesCache makes each series once, so that a measurement allocates nothing. It
// is as bounded as the values of the labels are.
type seriesCache struct {
	mu sync.RWMutex
	m  map[labels]*series
}

// often is of for a series that is needed all the time: kept has it from the first time
// on, for always the same labels.
func (c *seriesCache) often(kept *atomic.Pointer[series], l labels) *series {
	s := kept.Load()
	if s == nil {
		s = c.of(l)
		kept.Store(s)
	}
	return s
}

func (c *seriesCache) of(l labels) *series {
	c.mu.RLock()
	s := c.m[l]
	c.mu.RUnlock()
	if s != nil {
		return s
	}
	o := metric.WithAttributeSet(attribute.NewSet(l.attributes()...))
	s = &series{[]metric.RecordOption{o}, []metric.AddOption{o}, []metric.ObserveOption{o}}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = make(map[labels]*series)
	}
	c.m[l] = s
	return s
}
