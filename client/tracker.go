package client

import (
	"context"
	"sync"
)

// tracker counts what is under way, and lets one wait for all of it to end
// without a goroutine of its own.
type tracker struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed when n falls to 0; nil while nobody waits
}

func (t *tracker) add(n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n += n
	if t.n == 0 && t.zero != nil {
		close(t.zero)
		t.zero = nil
	}
	return t.n
}

// wait returns when nothing is under way, or ctx ended: then false.
func (t *tracker) wait(ctx context.Context) bool {
	t.mu.Lock()
	if t.n == 0 {
		t.mu.Unlock()
		return true
	}
	if t.zero == nil {
		t.zero = make(chan struct{})
	}
	zero := t.zero
	t.mu.Unlock()
	select {
	case <-zero:
		return true
	case <-ctx.Done():
		return false
	}
}
