package client_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

type lineWriter struct {
	mu    sync.Mutex
	lines []string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, string(p))
	return len(p), nil
}

func TestFailingRenewalsAreLoggedOncePerTransition(t *testing.T) {
	simulate(t, func(w *world) {
		var log lineWriter
		c := w.client(client.WithTTL(6*time.Second), client.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		for i := range 50 {
			must[*client.Lease](t)(c.Acquire(w.ctx, fmt.Sprint(i)))
		}
		for range 2 {
			w.m.SetError("LOADING the dataset")
			time.Sleep(4 * time.Second)
			w.m.SetError("")
			time.Sleep(9 * time.Second)
		}
		log.mu.Lock()
		defer log.mu.Unlock()
		want := []string{"renewals fail", "work again", "renewals fail", "work again"}
		if len(log.lines) != len(want) {
			t.Fatalf("%d lines:\n%s", len(log.lines), strings.Join(log.lines, ""))
		}
		for i, line := range log.lines {
			if !strings.Contains(line, want[i]) {
				t.Errorf("line %d: %s", i, line)
			}
		}
		if !strings.Contains(log.lines[0], "redis unavailable") {
			t.Error("the reason is missing")
		}
	})
}

func TestTheTokenIsInNoError(t *testing.T) {
	simulate(t, func(w *world) {
		w.m.SetError("ERR unknown command 'evalsha', with args beginning with: 'sha' 'secret'")
		if _, err := w.client().Acquire(w.ctx, "k"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Fatal(err)
		}
	})
}
