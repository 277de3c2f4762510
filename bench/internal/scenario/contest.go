package scenario

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
)

// hotKeyName is the key over which all contend, and holdTime how long they hold it.
const (
	hotKeyName = "hot"
	holdTime   = time.Millisecond
)

// hold is one time that somebody had the lock: the instants at which it was asked
// for, came, and was given up, just before the call of Release. They are of the
// wall clock, in nanoseconds, which all processes of a machine share.
type hold struct{ Asked, From, To int64 }

// contestant is what one goroutine had of a contest.
type contestant struct {
	Holds   []hold
	Waiting int64 // when it asked for the lock that it did not have when all ended, 0 if it had it
	Failed  int64
	First   string // of the errors
}

// contest is what all goroutines had.
type contest struct {
	Contestants []contestant
	Length      time.Duration
	End         int64 // when it ended
}

// contend has n goroutines of this process contend for the hot key for a while.
func contend(l contender.Locks, n int, length time.Duration) (contest, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	all := make([]contestant, n)
	var work sync.WaitGroup
	begin := make(chan struct{})
	for i := range all {
		work.Go(func() {
			<-begin
			all[i] = race(ctx, l)
		})
	}
	start := time.Now()
	close(begin)
	time.Sleep(length)
	end := time.Now()
	cancel()
	gone := make(chan struct{})
	go func() {
		work.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return contest{all, end.Sub(start), end.UnixNano()}, nil
	case <-time.After(patience):
		return contest{}, fmt.Errorf("waits did not end within %v of the end of their context", patience)
	}
}

// race takes the lock, again and again, until ctx ends. A hold that is cut short
// by that does not count: with some libraries the lease ends with it.
func race(ctx context.Context, l contender.Locks) (r contestant) {
	for ctx.Err() == nil {
		h := hold{Asked: time.Now().UnixNano()}
		r.Waiting = h.Asked
		lease, err := l.Acquire(ctx, hotKeyName)
		if err != nil {
			if ctx.Err() == nil {
				r.fail(err)
			}
			continue
		}
		r.Waiting = 0
		h.From = time.Now().UnixNano()
		time.Sleep(holdTime)
		h.To = time.Now().UnixNano()
		whole := ctx.Err() == nil
		err = lease.Release(context.Background())
		if !whole {
			break
		}
		r.Holds = append(r.Holds, h)
		if err != nil {
			r.fail(err)
		}
	}
	return r
}

func (r *contestant) fail(err error) {
	r.Failed++
	if r.First == "" {
		r.First = err.Error()
	}
}

// inOrder returns all holds by their beginning.
func (c contest) inOrder() []hold {
	var all []hold
	for _, r := range c.Contestants {
		all = append(all, r.Holds...)
	}
	slices.SortFunc(all, func(a, b hold) int { return cmp.Compare(a.From, b.From) })
	return all
}

// faults tells of errors, and of holds that overlapped.
func (c contest) faults() (found []string) {
	var failed int64
	var first string
	for _, r := range c.Contestants {
		failed += r.Failed
		first = cmp.Or(first, r.First)
	}
	if failed > 0 {
		found = append(found, fmt.Sprintf("%d calls failed, the first with %q", failed, first))
	}
	if n := c.overlaps(); n > 0 {
		found = append(found, fmt.Sprintf("%d times two had the lock at once", n))
	}
	return found
}

func (c contest) overlaps() (n int) {
	var until int64
	for _, h := range c.inOrder() {
		if h.From < until {
			n++
		}
		until = max(until, h.To)
	}
	return n
}
