package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/client"
)

const (
	slot  = 250 * time.Millisecond
	scale = 8  // grants for each mark
	width = 40 // of the bar
)

// counts are what happened in a slot, or in all.
type counts struct{ granted, degraded, failed, promoted, conflicts, overlaps int }

// timeline draws a line for each slot, with what was logged in between. It is the
// handler of the Client's logger too.
type timeline struct {
	out   io.Writer
	began time.Time

	mu     sync.Mutex
	redis  string
	slot   counts
	total  counts
	events []string
}

func (t *timeline) note(fn func(*counts)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fn(&t.slot)
	fn(&t.total)
}

func (t *timeline) granted(degraded bool) {
	t.note(func(c *counts) {
		if degraded {
			c.degraded++
		} else {
			c.granted++
		}
	})
}

func (t *timeline) failed(err error) {
	if errors.Is(err, holdfast.ErrUnavailable) {
		t.note(func(c *counts) { c.failed++ })
	}
}

func (t *timeline) overlap() { t.note(func(c *counts) { c.overlaps++ }) }

// say notes that Redis has come or gone.
func (t *timeline) say(redis, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.redis = redis
	t.events = append(t.events, what)
}

// follow tells what becomes of the lock that is wanted for long.
func (t *timeline) follow(ev client.Event) {
	what := ""
	switch {
	case ev.Kind == client.EventPromoted:
		fence, _ := ev.Lease.Fence()
		what = fmt.Sprintf("promoted: %q is in Redis, fence %d", ev.Lease.Key(), fence)
		t.note(func(c *counts) { c.promoted++ })
	case ev.Loss == client.LossConflict:
		what = fmt.Sprintf("conflict: the neighbour has %q; its holder was told", ev.Lease.Key())
		t.note(func(c *counts) { c.conflicts++ })
	case ev.Loss != "":
		what = fmt.Sprintf("lost: %q, %s; its holder was told", ev.Lease.Key(), ev.Loss)
	default:
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, what)
}

// draw draws until the function that it returns is called.
func (t *timeline) draw() (done func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(slot)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				t.line()
			case <-stop:
				t.line()
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

func (t *timeline) line() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.events {
		fmt.Fprintf(t.out, "               - %s\n", e)
	}
	s := t.slot
	t.events, t.slot = nil, counts{}
	bar := strings.Repeat("█", marks(s.granted)) + strings.Repeat("▒", marks(s.degraded)) + strings.Repeat("·", min(s.failed, 20))
	if runes := []rune(bar); len(runes) > width {
		bar = string(runes[:width])
	}
	fmt.Fprintf(t.out, "%5.2fs  %-4s %4d %s\n", time.Since(t.began).Seconds(), t.redis, s.granted+s.degraded, bar)
}

func marks(n int) int { return (n + scale - 1) / scale }

// verdict sums up, and is an error where something was not as it should be.
func (t *timeline) verdict() error {
	c := t.total
	fmt.Fprintf(t.out, "\n%d locks taken in Redis, %d degraded, %d calls failed;\n%d promoted, %d conflicts, %d overlaps inside this process\n",
		c.granted, c.degraded, c.failed, c.promoted, c.conflicts, c.overlaps)
	switch {
	case c.overlaps > 0:
		return fmt.Errorf("two were inside of one lock, %d times", c.overlaps)
	case c.granted == 0 || c.degraded == 0:
		return errors.New("there should be locks of both kinds")
	}
	return nil
}

// The lines of log that are part of the story.
var told = []string{"circuit breaker", "degraded mode", "restarted"}

// Enabled, Handle, WithAttrs and WithGroup make a slog.Handler of t.
func (t *timeline) Enabled(context.Context, slog.Level) bool { return true }
func (t *timeline) WithAttrs([]slog.Attr) slog.Handler       { return t }
func (t *timeline) WithGroup(string) slog.Handler            { return t }

func (t *timeline) Handle(_ context.Context, r slog.Record) error {
	text, _, _ := strings.Cut(strings.TrimPrefix(r.Message, "holdfast: "), ":")
	for _, w := range told {
		if strings.Contains(text, w) {
			t.mu.Lock()
			t.events = append(t.events, text)
			t.mu.Unlock()
			break
		}
	}
	return nil
}
