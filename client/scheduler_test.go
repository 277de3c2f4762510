package client

import (
	"container/heap"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A lease that ends while others are collected for renewal, and that would have gone
// with them, is left for later.
func TestCollectLeavesALeaseThatHasJustEnded(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{})
	defer rdb.Close()
	c, err := New(rdb)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s := c.scheduler
	for i, phase := range []phase{phaseLive, phaseEnded} {
		h := &hold{client: c, ttl: time.Minute, deadline: deadlineAt(now, time.Minute), index: -1, phase: phase,
			renewAt: now.Add(time.Duration(i) * 10 * time.Millisecond)}
		h.due = s.dueAt(h)
		heap.Push(&s.holds, h)
	}
	collected := make(chan int)
	go func() {
		due, _, _ := s.collect(now)
		collected <- len(due)
	}()
	select {
	case n := <-collected:
		if n != 1 {
			t.Errorf("%d leases are due", n)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the scheduler goes round and round")
	}
}
