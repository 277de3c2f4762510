//go:build unix

package holdfast_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// C042: a holder that was frozen past its TTL knows that it lost the lock before it
// can do anything, and the next holder is none the worse.
func TestC042AFrozenHolder(t *testing.T) {
	s := newSite(t)
	child := s.spawn("freeze")
	var fence uint64
	if _, err := fmt.Sscan(strings.TrimPrefix(child.expect("ready"), "ready "), &fence); err != nil {
		t.Fatal(err)
	}
	child.signal(syscall.SIGSTOP)
	stopped := time.Now()
	l := s.acquire(s.process(), "k")
	time.Sleep(2*time.Second - time.Since(stopped))
	child.signal(syscall.SIGCONT)
	if line := child.expect("woke"); line != "woke true true true true" {
		t.Errorf("lost, told, Extend and Release refused: %s", line)
	}
	if f, _ := l.Fence(); f <= fence {
		t.Errorf("fence %d after %d", f, fence)
	}
	if l.Context().Err() != nil || !strings.Contains(s.rdb.Get(s.ctx, record("k")).Val(), l.Token()) {
		t.Error("the next holder lost the lock to the frozen one")
	}
	s.release(l)
	_ = child.wait()
}
