package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
)

// churn takes, extends and releases locks in all ways until it is killed.
func churn(ctx context.Context, rdb *redis.Client) error {
	c, err := holdfast.New(rdb, holdfast.WithTTL(700*time.Millisecond), holdfast.WithRenewalInterval(20*time.Millisecond))
	if err != nil {
		return err
	}
	busy := make(chan struct{}, 1)
	for i := range 8 {
		go func() {
			key := fmt.Sprint("k", i%4)
			opts := [][]holdfast.AcquireOption{nil, {holdfast.WithOwner("job 7")}, {holdfast.WithMinHold(20 * time.Millisecond)}, {holdfast.WithoutRenewal()}}[i%4]
			for ctx.Err() == nil {
				l, err := c.Acquire(ctx, key, opts...)
				if err != nil {
					continue
				}
				_ = l.Extend(ctx, 800*time.Millisecond)
				_ = l.Release(ctx)
				select {
				case busy <- struct{}{}:
				default:
				}
			}
		}()
	}
	<-busy
	tell("ready")
	<-ctx.Done()
	return nil
}

// C020: a crash at any moment leaves no key without a TTL, and nobody waits longer
// than that.
func TestC020ACrashLeavesNoKeyForEver(t *testing.T) {
	s := newSite(t)
	for i := range rounds(4, 200) {
		child := s.spawn("churn")
		child.expect("ready")
		time.Sleep(time.Duration(100+37*i%50) * time.Millisecond)
		child.kill()
		keys := s.rdb.Keys(s.ctx, "*").Val()
		if len(keys) == 0 {
			t.Error("the child did nothing")
		}
		for _, k := range keys {
			if left := s.rdb.PTTL(s.ctx, k).Val(); left == -1 {
				t.Errorf("%s has no TTL: %q", k, s.rdb.Get(s.ctx, k).Val())
			}
		}
		c := s.process()
		for k := range 4 {
			s.within(800*time.Millisecond+soon, "the next acquire", func() { s.release(s.acquire(c, fmt.Sprint("k", k))) })
		}
	}
}

// hold holds 20 locks until SIGTERM, which makes it release them and close.
func hold(ctx context.Context, rdb *redis.Client) error {
	c, err := holdfast.New(rdb, holdfast.WithTTL(2*time.Second))
	if os.Getenv(childArg) == "defaults" {
		c, err = holdfast.New(rdb)
	}
	if err != nil {
		return err
	}
	var leases []*holdfast.Lease
	for i := range 20 {
		l, err := c.Acquire(ctx, fmt.Sprint("k", i))
		if err != nil {
			return err
		}
		leases = append(leases, l)
	}
	tell("ready")
	<-ctx.Done()
	ctx = context.WithoutCancel(ctx)
	for _, l := range leases {
		if err := l.Release(ctx); err != nil {
			return err
		}
	}
	return c.Close(ctx)
}

// C154: who is told to stop frees its locks at once; those of one who was killed
// are free after their TTL.
func TestC154Deploy(t *testing.T) {
	s := newSite(t)
	child := s.spawn("hold")
	child.expect("ready")
	child.signal(syscall.SIGTERM)
	if err := child.wait(); err != nil {
		t.Errorf("the child: %v", err)
	}
	if left := s.records(); len(left) != 0 {
		t.Errorf("left after SIGTERM: %v", left)
	}

	child = s.spawn("hold")
	child.expect("ready")
	child.kill()
	c := s.process()
	s.refused(c, "k0") // not before its TTL
	s.within(2*time.Second+soon, "the take-over", func() {
		for i := range 20 {
			s.release(s.acquire(c, fmt.Sprint("k", i)))
		}
	})
}

// C138: by default one crash blocks nobody for longer than a minute.
func TestC138DefaultTTL(t *testing.T) {
	s := newSite(t)
	child := s.spawn("hold", "defaults")
	child.expect("ready")
	child.kill()
	for _, k := range s.records() {
		if left := s.rdb.PTTL(s.ctx, k).Val(); left <= 0 || left > time.Minute {
			t.Errorf("%s has %v left", k, left)
		}
	}
	if soak() {
		l, err := s.process().Acquire(s.ctx, "k0", holdfast.WithWaitTimeout(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		s.release(l)
	}
}

// freeze holds a lock and looks at it every few milliseconds. When it finds that
// it was stopped for a while it tells what it finds first.
func freeze(ctx context.Context, rdb *redis.Client) error {
	c, err := holdfast.New(rdb, holdfast.WithTTL(time.Second))
	if err != nil {
		return err
	}
	l, err := c.Acquire(ctx, "k")
	if err != nil {
		return err
	}
	fence, _ := l.Fence()
	last := time.Now()
	tell("ready %d", fence)
	for ; ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
		now := time.Now()
		gap := now.Sub(last)
		last = now
		if gap < 1500*time.Millisecond {
			continue
		}
		lost := l.Context().Err()
		told := false
		select {
		case <-l.Context().Done():
			told = true
		case <-time.After(soon):
		}
		extend, release := l.Extend(ctx, time.Minute), l.Release(ctx)
		tell("woke %v %v %v %v", lost != nil && errors.Is(context.Cause(l.Context()), holdfast.ErrLost), told,
			errors.Is(extend, holdfast.ErrNotHeld), errors.Is(release, holdfast.ErrNotHeld))
		return nil
	}
	return nil
}
