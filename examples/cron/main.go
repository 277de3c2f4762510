// Command cron runs a job once per tick though each of four hosts has its own
// schedule and a clock that is a little off. A lock alone does not do it: the job is
// done, and the lock free, before the host with the slowest clock comes. WithMinHold
// keeps the lock beyond the job.
//
//	go run ./examples/cron
//
// needs no server: there is a simulated Redis inside.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-go/holdfast"
)

const (
	ticks    = 4
	interval = 300 * time.Millisecond
	jobTime  = 2 * time.Millisecond
	// minHold is longer than clocks may differ. It may be longer than the interval
	// too, since each tick has a key of its own.
	minHold = 5 * time.Second
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cron:", err)
		os.Exit(1)
	}
}

// onTick is all that a host does when its clock says so.
func (h *host) onTick(ctx context.Context, tick int, opts ...holdfast.AcquireOption) error {
	key := fmt.Sprintf("report@tick-%d", tick)
	lease, err := h.locks.TryAcquire(ctx, key, opts...)
	if errors.Is(err, holdfast.ErrNotAcquired) {
		return nil // another host has seen to this tick
	}
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return h.job(lease.Context(), tick)
}

// job stands for the work.
func (h *host) job(_ context.Context, tick int) error {
	h.journal.note(tick, h.name)
	time.Sleep(jobTime)
	return nil
}
