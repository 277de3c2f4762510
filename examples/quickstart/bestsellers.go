package main

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast"
)

// rankBestsellers works the bestsellers out again and again, in one process at a
// time if that can be had.
func (w *worker) rankBestsellers(ctx context.Context) {
	for ctx.Err() == nil && !w.rest.Load() {
		// Where it fails the next turn is soon enough.
		_ = w.locks.Do(ctx, "bestsellers", func(ctx context.Context, l *holdfast.Lease) error {
			pause(ctx, 20*time.Millisecond)
			_, fenced := l.Fence()
			w.send(event{Kind: isRanked, Degraded: l.Degraded(), Fenced: fenced})
			return nil
		}, holdfast.WithClass(classBestsellers), holdfast.WithTTL(maxTTL))
		pause(ctx, 50*time.Millisecond)
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
