package holdfast_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
)

// jain is Jain's index of fairness: 1 where all got the same, 1/n where one got all.
// R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness, 1984.
func jain(counts []int) float64 {
	var sum, squares float64
	for _, c := range counts {
		sum += float64(c)
		squares += float64(c * c)
	}
	return sum * sum / (float64(len(counts)) * squares)
}

// Fifty waiters over four processes: two commands each, turn and turn about.
func TestManyWaitersTakeTurns(t *testing.T) {
	s := newSite(t)
	const processes, waiters = 4, 50
	var clients []*holdfast.Client
	for range processes {
		clients = append(clients, s.proxied())
	}
	holder := s.acquire(s.process(), "k")
	counts := make([]int, waiters)
	waits := make([][]time.Duration, waiters)
	stop := make(chan struct{})
	var work sync.WaitGroup
	for i := range waiters {
		c := clients[i%processes]
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				start := time.Now()
				l, err := c.Acquire(s.ctx, "k", holdfast.WithWaitTimeout(patience))
				if err != nil {
					t.Error(err)
					return
				}
				counts[i]++
				waits[i] = append(waits[i], time.Since(start))
				time.Sleep(10 * time.Millisecond)
				if err := l.Release(s.ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	s.awaitQueue("k", processes)
	s.awaitListening(processes)
	s.proxy.ResetStats()
	start := time.Now()
	s.release(holder)
	time.Sleep(time.Duration(rounds(3, 20)) * time.Second)
	close(stop)
	work.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	seconds := time.Since(start).Seconds()
	perAcquisition := (float64(s.proxy.Stats().Total()) - processes*seconds) / float64(total)
	all := slices.Concat(waits...)
	t.Logf("%d acquisitions in %.1f s, %.2f commands each, Jain %.3f, longest wait %v of a fair share of %v",
		total, seconds, perAcquisition, jain(counts), slices.Max(all),
		time.Duration(float64(waiters)/float64(total)*seconds*float64(time.Second)))
	if perAcquisition > 2.2 {
		t.Errorf("%.2f commands per acquisition: %v", perAcquisition, s.proxy.Stats().Commands)
	}
	if j := jain(counts); j < 0.98 {
		t.Errorf("Jain's index %.3f: %v", j, counts)
	}
}

// However many wait, all get their turn.
func TestFiveHundredWaitersAllFinish(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k")
	var work sync.WaitGroup
	for range 10 {
		c := s.process()
		for range 50 {
			work.Go(func() {
				l, err := c.Acquire(s.ctx, "k", holdfast.WithWaitTimeout(2*patience))
				if err != nil {
					t.Error(err)
					return
				}
				if err := l.Release(s.ctx); err != nil {
					t.Error(err)
				}
			})
		}
	}
	s.awaitQueue("k", 10)
	s.release(holder)
	work.Wait()
}

// Those who wait cost a command or two a second and Client, whatever their number, and
// none of them costs a connection of the pool.
func TestIdleWaitersCostNothing(t *testing.T) {
	s := newSite(t)
	a, b := s.process(), s.proxied()
	var holders []*holdfast.Lease
	for i := range 200 {
		holders = append(holders, s.acquire(a, fmt.Sprint("k", i), holdfast.WithTTL(time.Minute)))
	}
	var work sync.WaitGroup
	for i := range 200 {
		for range 3 {
			work.Go(func() {
				l, err := b.Acquire(s.ctx, fmt.Sprint("k", i), holdfast.WithWaitTimeout(patience))
				if err != nil {
					t.Error(err)
					return
				}
				if err := l.Release(s.ctx); err != nil {
					t.Error(err)
				}
			})
		}
	}
	for i := range 200 {
		s.awaitQueue(fmt.Sprint("k", i), 1)
	}
	s.awaitListening(1)
	s.proxy.ResetStats()
	time.Sleep(4 * time.Second)
	if n := s.proxy.Stats().Total(); n < 3 || n > 2*4 {
		t.Errorf("%d commands in 4 s: %v", n, s.proxy.Stats().Commands)
	}
	for _, l := range holders {
		s.release(l)
	}
	work.Wait()
}
