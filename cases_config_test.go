package holdfast_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
)

// C130: no TTL is truncated to none, or to a server error.
func TestC130TTLs(t *testing.T) {
	s := newSite(t)
	c := s.process(holdfast.WithoutRenewal())
	for _, ttl := range []time.Duration{0, -time.Second, 500 * time.Microsecond} {
		_, err := c.Acquire(s.ctx, "k", holdfast.WithTTL(ttl))
		s.only(err, holdfast.ErrInvalid)
		if s.held("k") {
			t.Errorf("TTL %v: a key was written", ttl)
		}
	}
	for _, ttl := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond} {
		l := s.acquire(c, ttl.String(), holdfast.WithTTL(ttl))
		if left := s.ttl(ttl.String()); left == -1 || left > ttl {
			t.Errorf("TTL %v: %v are left", ttl, left)
		}
		for _, bad := range []time.Duration{0, -time.Second, 500 * time.Microsecond} {
			s.only(l.Extend(s.ctx, bad), holdfast.ErrInvalid)
		}
		_ = l.Extend(s.ctx, 90*time.Second+1500*time.Microsecond)
		if left := s.ttl(ttl.String()); left == -1 || left > 91*time.Second || left > ttl && left < time.Minute {
			t.Errorf("Extend: %v are left", left)
		}
	}
	// Too short to be of use, and no harm: a lease that may have ended already, or a
	// grant that came too late.
	if _, err := c.Acquire(s.ctx, "short", holdfast.WithTTL(time.Millisecond)); err != nil {
		s.only(err, holdfast.ErrUnavailable)
	}
	s.await("the key is gone", func() bool { return !s.held("short") })
}

// C131: an interval of renewals that loses the lock is refused, and both numbers
// are named.
func TestC131RenewalIntervals(t *testing.T) {
	s := newSite(t)
	for _, interval := range []time.Duration{time.Second, 1200 * time.Millisecond, 900 * time.Millisecond} {
		opts := []holdfast.Option{holdfast.WithTTL(time.Second), holdfast.WithRenewalInterval(interval)}
		_, err := holdfast.New(s.rdb, opts...)
		s.only(err, holdfast.ErrInvalid)
		for _, part := range []string{"renewal interval " + interval.String(), "TTL 1s"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not name %q", err, part)
			}
		}
	}
}

// C132: renewal can be switched off, and then nothing is renewed.
func TestC132WithoutRenewal(t *testing.T) {
	s := newSite(t)
	c := s.proxied(holdfast.WithoutRenewal(), holdfast.WithTTL(1500*time.Millisecond))
	l := s.acquire(c, "k")
	s.lost(l, patience)
	if n := extends(s.proxy.Commands()); n != 0 {
		t.Errorf("%d renewals", n)
	}
}

// C134: whatever options the caller's client has, a lock whose holder has gone is
// had after its TTL.
func TestC134OddRedisClients(t *testing.T) {
	for name, odd := range map[string]func(o *redis.Options){
		"database 1":        func(o *redis.Options) { o.DB = 1 },
		"one connection":    func(o *redis.Options) { o.PoolSize = 1 },
		"old protocol":      func(o *redis.Options) { o.Protocol = 2 },
		"context time-outs": func(o *redis.Options) { o.ContextTimeoutEnabled = true },
		"no retries":        func(o *redis.Options) { o.MaxRetries = -1 },
		"no time-outs":      func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout = -1, -1 },
		"all at once": func(o *redis.Options) {
			o.DB, o.PoolSize, o.Protocol, o.ContextTimeoutEnabled, o.MaxRetries = 1, 1, 2, true, -1
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			a, b := s.client(s.srv.Client(t, odd)), s.client(s.srv.Client(t, odd))
			s.acquire(a, "k", holdfast.WithTTL(time.Second))
			gone, cancel := context.WithCancel(s.ctx)
			cancel()
			if err := a.Close(gone); err == nil { // its key is left to its TTL
				t.Error("Close says that nothing was left")
			}
			l := s.acquire(b, "k")
			if err := l.Extend(s.ctx, time.Minute); err != nil {
				t.Error(err)
			}
			s.release(l)
		})
	}
}

// C135: a lock may be called like the data that it guards, and data in the lock's
// own place is refused at once and left alone.
func TestC135NamesThatAreTaken(t *testing.T) {
	s := newSite(t)
	c := s.process()
	s.rdb.Set(s.ctx, "job:1", "x", 0)
	s.rdb.LPush(s.ctx, "list:1", "x")
	for _, key := range []string{"job:1", "list:1"} {
		s.release(s.acquire(c, key))
	}
	s.rdb.Set(s.ctx, record("string"), "x", 0)
	s.rdb.LPush(s.ctx, record("list"), "x")
	for _, key := range []string{"string", "list"} {
		s.within(soon, "the refusal", func() {
			_, err := c.Acquire(s.ctx, key)
			s.only(err, holdfast.ErrRefused)
		})
	}
	if s.rdb.Get(s.ctx, record("string")).Val() != "x" || s.rdb.LLen(s.ctx, record("list")).Val() != 1 || s.ttl("list") != -1 {
		t.Error("the data was changed")
	}
	for _, key := range []string{"", strings.Repeat("k", 10<<10)} {
		_, err := c.Acquire(s.ctx, key)
		s.only(err, holdfast.ErrInvalid)
	}
}

// C137: a server without scripts says so at once, and is not taken for a holder.
func TestC137NoScripts(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		then   []any
		reason string
	}{
		"renamed away":  {[]string{"--rename-command", "EVAL", "", "--rename-command", "EVALSHA", ""}, nil, "unknown command"},
		"denied by ACL": {nil, []any{"ACL", "SETUSER", "default", "-@scripting"}, "NOPERM"},
		"no password":   {nil, []any{"CONFIG", "SET", "requirepass", "secret"}, "unauthenticated"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, tc.args...)
			if tc.then != nil {
				s.srv.Do(t, tc.then...)
			}
			c := s.process()
			ctx, cancel := context.WithTimeout(s.ctx, patience)
			defer cancel()
			s.within(soon, "the refusal", func() {
				_, err := c.Acquire(ctx, "k")
				s.only(err, holdfast.ErrRefused)
				if err == nil || !strings.Contains(err.Error(), tc.reason) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the server's reason is missing: %v", err)
				}
			})
		})
	}
}
