package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/backoff"
	"github.com/holdfast-go/holdfast/fallback"
)

// C115: the request's context is over when its deferred release runs; the lock is
// free all the same.
func TestC115ReleaseOfACancelledRequest(t *testing.T) {
	s := newSite(t)
	a, b := s.process(), s.process()
	ctx, cancel := context.WithCancel(s.ctx)
	l, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := l.Release(ctx); err != nil {
		s.only(err, holdfast.ErrUnavailable) // not confirmed in time
	}
	s.within(soon, "the next acquire", func() { s.release(s.acquire(b, "k")) })

	ctx, cancel = context.WithCancel(s.ctx)
	defer cancel()
	err = a.Do(ctx, "k", func(ctx context.Context, _ *holdfast.Lease) error {
		cancel()
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Do: %v", err)
	}
	s.within(soon, "the next acquire", func() { s.release(s.acquire(b, "k")) })
}

// C117: a bounded call returns in its time, whatever has become of the server.
func TestC117NoCallHangs(t *testing.T) {
	for name, fault := range map[string]func(s *site){
		"frozen":     func(s *site) { s.srv.Freeze() },
		"killed":     func(s *site) { s.srv.Kill() },
		"black hole": func(s *site) { s.proxy.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			// The time-outs of the pipeline and of go-redis as they are by default.
			c := s.proxied(holdfast.WithAttemptTimeout(holdfast.DefaultAttemptTimeout), holdfast.WithCommandTimeout(time.Second))
			s.release(s.acquire(c, "warm"))
			fault(s)
			var work sync.WaitGroup
			for i := range 50 {
				key := []string{"one for all", fmt.Sprint("k", i)}[i%2]
				acquire := c.Acquire
				if i%4 >= 2 {
					acquire = c.TryAcquire
				}
				work.Go(func() {
					s.within(500*time.Millisecond+soon, "the call", func() {
						_, err := acquire(context.Background(), key, holdfast.WithWaitTimeout(500*time.Millisecond))
						// Of those who want the same lock one asks; the others are told that
						// it is awaited here.
						if key != "one for all" || !errors.Is(err, holdfast.ErrNotAcquired) {
							s.only(err, holdfast.ErrUnavailable)
						}
					})
				})
			}
			work.Wait()
		})
	}
}

// C120: what ends the call is named: a context error is the caller's own.
func TestC120TheLimitIsNamed(t *testing.T) {
	s := newSite(t)
	patient := s.proxied()
	calm := holdfast.WithBreaker(fallback.BreakerConfig{MinRequests: 1000})
	hasty := s.proxied(calm, holdfast.WithAttemptTimeout(50*time.Millisecond))
	brief := s.proxied(calm, holdfast.WithCommandTimeout(50*time.Millisecond))
	for _, c := range []*holdfast.Client{patient, hasty, brief} {
		s.await("a connection", func() bool {
			l, err := c.Acquire(s.ctx, "warm")
			_ = l.Release(s.ctx)
			return err == nil
		})
	}
	s.proxy.Delay(200 * time.Millisecond)
	s.release(s.acquire(patient, "k"))
	for limit, c := range map[string]*holdfast.Client{"attempt timeout of 50ms": hasty, "command timeout of 50ms": brief} {
		_, waited := c.Acquire(context.Background(), "k2")
		_, tried := c.TryAcquire(s.ctx, "k3")
		for _, err := range []error{waited, tried} {
			s.only(err, holdfast.ErrUnavailable)
			if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || err == nil || !strings.Contains(err.Error(), limit) {
				t.Errorf("%s: %v", limit, err)
			}
		}
	}
}

// C121: a pause between polls ends with the context.
func TestC121APauseIsCancelled(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k", holdfast.WithTTL(time.Hour))
	c := s.proxied(holdfast.WithRetry(backoff.WithContention(backoff.Constant(time.Hour))))
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := c.Acquire(ctx, "k")
		done <- err
	}()
	s.await("the first try", func() bool { return s.proxy.Stats().Replies["EVALSHA"] > 0 })
	time.Sleep(100 * time.Millisecond)
	cancel()
	s.within(soon, "the way out of the pause", func() {
		err := <-done
		s.only(err, holdfast.ErrNotAcquired)
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	s.release(holder)
}
