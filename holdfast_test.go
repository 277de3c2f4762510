package holdfast_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/fallback"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

var recommended = []string{"telemetry", "log", "timeout", "gate", "degrade", "retry", "breaker", "attempts", "attempt timeout", "redis"}

func pass(next holdfast.Handler) holdfast.Handler { return next }

func TestPipelineOrder(t *testing.T) {
	rdb := redistest.NewSim(t).Client()
	for name, tc := range map[string]struct {
		opts []holdfast.Option
		want []string
	}{
		"recommended": {nil, recommended},
		"with the user's": {
			[]holdfast.Option{client.WithLayer("audit", pass), client.WithLayer("retry", pass), holdfast.WithAttemptMiddleware(pass), holdfast.Replace(holdfast.LayerRetry, nil), holdfast.Replace(holdfast.LayerLog, pass)},
			[]string{"telemetry", "log", "audit", "retry", "timeout", "gate", "degrade", "breaker", "attempts", "attempt middleware 1", "attempt timeout", "redis"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := holdfast.New(rdb, tc.opts...)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(context.Background())
			if got := c.Pipeline(); !slices.Equal(got, tc.want) {
				t.Fatalf("got  %v\nwant %v", got, tc.want)
			}
		})
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	rdb := redistest.NewSim(t).Client()
	for name, opt := range map[string]holdfast.Option{
		"the gate":         holdfast.Replace(holdfast.LayerGate, nil),
		"unknown layer":    holdfast.Replace("retrie", pass),
		"attempt timeout":  holdfast.WithAttemptTimeout(0),
		"nil middleware":   holdfast.WithAttemptMiddleware(nil),
		"local without":    holdfast.WithFallback(fallback.Policies{Default: fallback.Local{}}),
		"breaker":          holdfast.WithBreaker(fallback.BreakerConfig{FailureRatio: 2}),
		"nil retry option": holdfast.WithRetry(nil),
		"strange":          client.WithExtension(7),
	} {
		if c, err := holdfast.New(rdb, opt); c != nil || !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}
