package holdfast_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
)

// C058: a waiter that loses the race goes on waiting.
func TestC058TheOneWhoLosesTheRaceGetsItsTurn(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k")
	var work sync.WaitGroup
	for range 2 {
		c := s.process()
		work.Go(func() {
			l, err := c.Acquire(s.ctx, "k", holdfast.WithWaitTimeout(patience))
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(300 * time.Millisecond)
			if err := l.Release(s.ctx); err != nil {
				t.Error(err)
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	s.release(holder)
	work.Wait()
}

// C061: waiting costs a few commands a second, and for all but one of a process
// none.
func TestC061WaitingIsCheap(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k")
	c := s.proxied()
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			l, err := c.Acquire(s.ctx, "k")
			if err != nil {
				t.Error(err)
				return
			}
			if err := l.Release(s.ctx); err != nil {
				t.Error(err)
			}
		})
	}
	time.Sleep(4 * time.Second)
	// 10 a second, and the quick ones with which the wait begins.
	if n := s.proxy.Stats().Total(); n < 4 || n > 4*10+10 {
		t.Errorf("%d commands in 4 s", n)
	}
	s.release(holder)
	work.Wait()
}

// C062: hand-offs back to back inside a process: nobody misses one.
func TestC062BackToBack(t *testing.T) {
	s := newSite(t)
	c := s.process()
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() {
			for range rounds(250, 1000) {
				ctx, cancel := context.WithTimeout(s.ctx, patience)
				l, err := c.Acquire(ctx, "k")
				if err != nil {
					t.Error(err)
				}
				if err := l.Release(s.ctx); err != nil {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	work.Wait()
}

// C065: nothing but the context bounds the wait.
func TestC065NoHiddenBound(t *testing.T) {
	s := newSite(t)
	a, b := s.process(), s.process()
	ctx, cancel := context.WithTimeout(s.ctx, 4*patience)
	defer cancel()
	var work sync.WaitGroup
	for i := range 20 {
		c := []*holdfast.Client{a, b}[i%2]
		work.Go(func() {
			l, err := c.Acquire(ctx, "k")
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Duration(rounds(50, 200)) * time.Millisecond)
			if err := l.Release(s.ctx); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
}

// C067: the wait timeout bounds the whole wait, pauses included.
func TestC067TheWholeWaitIsBounded(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k")
	const limit = time.Second
	var work sync.WaitGroup
	for i := range 20 {
		c := s.process()
		s.release(s.acquire(c, "warm"))
		work.Go(func() {
			time.Sleep(time.Duration(i) * 20 * time.Millisecond)
			start := time.Now()
			_, err := c.Acquire(s.ctx, "k", holdfast.WithWaitTimeout(limit))
			if d := time.Since(start); d < limit || d > limit+soon {
				t.Errorf("waited %v", d)
			}
			s.only(err, holdfast.ErrNotAcquired)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	}
	work.Wait()
	s.release(holder)
}
