package telemetry

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// builder makes instruments of which none is nil, whatever the meter returns.
type builder struct{ metric.Meter }

func (b builder) histogram(name, unit, description string, bounds []float64) metric.Float64Histogram {
	i, err := b.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(bounds...))
	if !usable(name, i, err) {
		return noop.Float64Histogram{}
	}
	return i
}

func (b builder) counter(name, unit, description string) metric.Int64Counter {
	i, err := b.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	if !usable(name, i, err) {
		return noop.Int64Counter{}
	}
	return i
}

func (b builder) asyncUpDown(name, unit, description string) metric.Int64ObservableUpDownCounter {
	i, err := b.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	if !usable(name, i, err) {
		return nil
	}
	return i
}

func (b builder) asyncGauge(name, unit, description string) metric.Float64ObservableGauge {
	i, err := b.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	if !usable(name, i, err) {
		return nil
	}
	return i
}

func (b builder) asyncCounter(name, unit, description string) metric.Float64ObservableCounter {
	i, err := b.Float64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	if !usable(name, i, err) {
		return nil
	}
	return i
}

// usable tells whether an instrument was made, and the program's error handler of
// one that was not.
func usable(name string, instrument any, err error) bool {
	if err == nil && isNil(instrument) {
		err = errors.New("the meter returned nil")
	}
	if err != nil {
		otel.Handle(fmt.Errorf("holdfast: metric %s is not recorded: %w", name, err))
	}
	return err == nil
}
