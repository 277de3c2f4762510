package telemetry

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/holdfast-go/holdfast/client"
)

func TestAttempts(t *testing.T) {
	held := &client.HeldError{}
	for name, tc := range map[string]struct {
		core client.Middleware
		want string
	}{
		"granted":                          {local, "granted"},
		"held":                             {fails(held), "held"},
		"unavailable":                      {fails(client.ErrUnavailable), "error"},
		"refused":                          {fails(client.ErrRefused), "error"},
		"held before, then the wait ended": {fails(fmt.Errorf("%w: %w", held, context.DeadlineExceeded)), "error"},
		"held before, then canceled":       {fails(fmt.Errorf("%w: %w", held, context.Canceled)), "error"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			l, _ := newClient(t, r.Attempts(), tc.core).Acquire(context.Background(), "key", client.WithClass("stock"))
			l.Release(context.Background())
			got := r.metric(t, "holdfast.attempts")
			if want := (map[string]point{"class=stock result=" + tc.want: {n: 1}}); !maps.Equal(got, want) {
				t.Errorf("attempts are %v, want %v", got, want)
			}
		})
	}
}

func TestAttemptAfterTheEndIsNone(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	newClient(t, r.Attempts(), fails(client.ErrUnavailable)).Acquire(ctx, "key")
	if got := r.metric(t, "holdfast.attempts"); len(got) != 0 {
		t.Errorf("attempts are %v, want none", got)
	}
}
