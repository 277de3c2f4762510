package holdfast

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-go/holdfast/backoff"
	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/fallback"
	"github.com/holdfast-go/holdfast/middleware"
	"github.com/holdfast-go/holdfast/telemetry"
)

// The layers of the recommended pipeline, outermost first. Layers of WithMiddleware
// come after LayerLog, those of WithAttemptMiddleware after LayerAttempts.
const (
	LayerTelemetry      = "telemetry"
	LayerLog            = "log"
	LayerTimeout        = "timeout"
	LayerGate           = "gate"
	LayerDegrade        = "degrade"
	LayerRetry          = "retry"
	LayerBreaker        = "breaker"
	LayerAttempts       = "attempts"
	LayerAttemptTimeout = "attempt timeout"
)

var layerNames = []string{LayerTelemetry, LayerLog, LayerTimeout, LayerDegrade, LayerRetry,
	LayerBreaker, LayerAttempts, LayerAttemptTimeout}

func replaceable(layer string) bool { return slices.Contains(layerNames, layer) }

// assemble builds the recommended pipeline.
func assemble(a *client.Assembly) ([]client.Layer, error) {
	s := settings{attemptTimeout: DefaultAttemptTimeout}
	for _, e := range a.Extensions {
		set, ok := e.(extension)
		if !ok {
			return nil, invalid("an extension of type %T is not an option of this package", e)
		}
		if err := set(&s); err != nil {
			return nil, err
		}
	}
	if s.breaker.Logger == nil {
		s.breaker.Logger = a.Logger
	}
	breaker, err := fallback.NewBreaker(s.breaker)
	if err != nil {
		return nil, err
	}
	degrade, err := fallback.Degrade(breaker, s.policies)
	if err != nil {
		return nil, err
	}
	retry, err := backoff.Retry(s.retry...)
	if err != nil {
		return nil, err
	}
	signals, err := telemetry.New(s.telemetry...)
	if err != nil {
		return nil, err
	}
	a.OnClose(signals.Close)
	a.InBackground(signals.Background)
	if _, replaced := s.replaced[LayerBreaker]; !replaced {
		if err := errors.Join(breaker.Attach(a), watch(signals, breaker)); err != nil {
			return nil, errors.Join(err, signals.Close(context.Background()))
		}
	}
	layers := slices.Concat(
		s.layer(LayerTelemetry, signals.Middleware()),
		s.layer(LayerLog, middleware.Log(a.Logger)),
		a.Layers,
		s.layer(LayerTimeout, middleware.Timeout(0)),
		s.layer(LayerGate, middleware.Gate()),
		s.layer(LayerDegrade, degrade),
		s.layer(LayerRetry, retry),
		s.layer(LayerBreaker, breaker.Middleware()),
		s.layer(LayerAttempts, signals.Attempts()),
		s.attempt,
		s.layer(LayerAttemptTimeout, middleware.AttemptTimeout(s.attemptTimeout)),
	)
	signals.Describe(telemetry.ClientInfo{
		Identity: a.Identity, Prefix: a.Prefix, Pipeline: namesOf(layers), Warnings: s.advice(a.Redis),
	})
	return layers, nil
}

func namesOf(layers []client.Layer) []string {
	names := make([]string, 0, len(layers)+1)
	for _, l := range layers {
		names = append(names, l.Name)
	}
	return append(names, "redis")
}

// layer is mw, or what Replace put in its place.
func (s *settings) layer(name string, mw Middleware) []client.Layer {
	if other, ok := s.replaced[name]; ok {
		mw = other
	}
	if mw == nil {
		return nil
	}
	return []client.Layer{{Name: name, Middleware: mw}}
}

// watch has the breaker's state in the metrics.
func watch(t *telemetry.Telemetry, b *fallback.Breaker) error {
	return t.WatchBreaker(telemetry.Breaker{
		Name:     b.Name(),
		State:    func() string { return b.State().String() },
		OpenTime: b.OpenTime,
		Since:    b.Since,
		OnTransition: func(fn func(from, to string)) {
			b.OnTransition(func(from, to fallback.State) { fn(from.String(), to.String()) })
		},
		OnReconciled: func(fn func(class, result string)) {
			b.OnReconciled(func(class string, r fallback.Result) { fn(class, r.String()) })
		},
	})
}
