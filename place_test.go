package holdfast_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
)

// A waiter that leaves passes its place in the queue to the next of its process.
func TestWhoLeavesPassesItsPlaceOn(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k")
	c := s.process()
	ctx, cancel := context.WithCancel(s.ctx)
	left := make(chan error, 1)
	go func() {
		_, err := c.Acquire(ctx, "k")
		left <- err
	}()
	s.awaitQueue("k", 1)
	heir := make(chan *holdfast.Lease, 1)
	waits := make(chan struct{})
	go func() {
		close(waits)
		l, err := c.Acquire(s.ctx, "k", holdfast.WithWaitTimeout(patience))
		if err != nil {
			t.Error(err)
		}
		heir <- l
	}()
	<-waits
	time.Sleep(50 * time.Millisecond) // it stands at the gate
	stranger := s.waiting("k")
	leaver := s.rdb.ZRange(s.ctx, record("k")+":queue", 0, 0).Val()[0]
	cancel()
	s.only(<-left, holdfast.ErrNotAcquired)
	s.await("the heir in the queue, the leaver out of it", func() bool {
		queue := s.rdb.ZRange(s.ctx, record("k")+":queue", 0, -1).Val()
		return len(queue) == 2 && !slices.Contains(queue, leaver)
	})
	s.release(holder)
	l := s.granted(heir, soon)
	s.waitsStill(stranger)
	s.release(l)
	s.release(s.granted(stranger, soon))
}
