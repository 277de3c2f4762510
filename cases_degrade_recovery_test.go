package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/fallback"
)

// The faults of another library, one after the other: a lock that was taken while
// degraded is released where it is, and does not block the next one; nobody has a lock
// twice in one process after the recovery; a lock that is held, met by the trial, does
// not keep anybody degraded; and callers see that they are.
func TestReleaseGoesToWhereTheLockIs(t *testing.T) {
	s := newSite(t)
	a := s.app(local)
	s.down()
	before := s.degraded(a, "k", holdfast.WithTTL(time.Second))
	during := s.degraded(a, "k2")
	stop := s.keep(before)
	s.release(during)
	held := s.acquire(s.process(), "held") // by another process, in Redis
	s.up()
	s.await("the promotion", func() bool { return !before.Degraded() })
	stop()
	s.refused(a.Client, "k")
	s.refused(a.Client, "held")
	if n := a.metric(t, "holdfast.lease.count", "mode=degraded"); n != 0 {
		t.Errorf("%d leases are degraded by the metrics", n)
	}
	if n := a.metric(t, "holdfast.lease.count", "mode=distributed"); n != 1 {
		t.Errorf("%d leases are in Redis by the metrics", n)
	}
	if !s.held("k") {
		t.Error("the lease is not in Redis")
	}
	s.release(before)
	if s.held("k") {
		t.Error("the release went elsewhere")
	}
	next := s.acquire(a.Client, "k")
	if next.Degraded() {
		t.Error("still degraded")
	}
	s.release(next)
	s.release(held)
	if promoted := a.metric(t, "holdfast.degraded.reconciliations", "result=promoted"); promoted != 1 {
		t.Errorf("%d promoted by the metrics", promoted)
	}
}

// A server that comes back without its data lets another in beside a degraded lease,
// which nothing can exclude: it is found out, counted, and logged with both names.
func TestConflictAfterRestartWithoutData(t *testing.T) {
	s := newSite(t)
	a := s.app(fallback.Local{MaxTTL: time.Second}, holdfast.WithIdentity("pod-a"))
	_ = s.acquire(a.Client, "warm").Release(s.ctx)
	s.await("the server is known", func() bool { return s.srv.Commands(t)["info"] > 1 })
	s.srv.Kill()
	for range 10 { // the breaker opens
		_, _ = a.TryAcquire(s.ctx, "k")
	}
	ours := s.acquire(a.Client, "k")
	if !ours.Degraded() {
		t.Fatal("not degraded")
	}
	stop := s.keep(ours)
	s.proxy.Refuse(true)
	s.srv.Restart()
	theirs := s.acquire(s.process(holdfast.WithIdentity("pod-b")), "k")
	s.up()
	s.lost(ours, soon)
	stop()
	var lost *holdfast.LostError
	if errors.As(context.Cause(ours.Context()), &lost); lost == nil || lost.Loss != client.LossConflict {
		t.Errorf("cause %v", context.Cause(ours.Context()))
	}
	if theirs.Context().Err() != nil {
		t.Error("the other one has lost it too")
	}
	for name, series := range map[string]string{"holdfast.degraded.reconciliations": "result=conflict", "holdfast.lease.losses": "reason=conflict"} {
		s.await(name, func() bool { return a.metric(t, name, series) == 1 })
	}
	s.await("the breaker closes", func() bool { return a.log.count("degraded mode is over") == 1 })
	for _, line := range []string{"holdfast: conflict", "ours=pod-a theirs=pod-b", "Redis was restarted"} {
		if n := a.log.count(line); n != 1 {
			t.Errorf("%q is logged %d times: %s", line, n, a.log)
		}
	}
	s.release(theirs)
}
