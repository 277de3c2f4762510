package redistest

import (
	"errors"
	"io"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestSimFollowsTheClockOfTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := NewSim(t).Client()
		const now = "local t = redis.call('TIME') return t[1] * 1000000 + t[2]"
		before, err := rdb.Eval(t.Context(), now, nil).Int64()
		check(t, err)
		check(t, rdb.Set(t.Context(), "k", "v", time.Hour).Err())
		time.Sleep(time.Hour - time.Millisecond)
		if ttl := rdb.PTTL(t.Context(), "k").Val(); ttl != time.Millisecond {
			t.Errorf("TTL after all but a millisecond = %v", ttl)
		}
		time.Sleep(2 * time.Millisecond)
		if err := rdb.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("GET after the TTL: %v, want none", err)
		}
		after, err := rdb.Eval(t.Context(), now, nil).Int64()
		check(t, err)
		if got := time.Duration(after-before) * time.Microsecond; got != time.Hour+time.Millisecond {
			t.Errorf("TIME moved by %v", got)
		}
	})
}

func TestSimFollowsTheClockOutsideOfABubble(t *testing.T) {
	rdb := NewSim(t).Client()
	check(t, rdb.Set(t.Context(), "k", "v", 20*time.Millisecond).Err())
	eventually(t, "expiry", func() bool { return rdb.Exists(t.Context(), "k").Val() == 0 })
}

// Clients of equal endpoints share a gate, so no two simulations may look alike.
func TestSimAddrIsItsOwn(t *testing.T) {
	s, other := NewSim(t), NewSim(t)
	seen := make(map[string]bool)
	for _, addr := range []string{s.Client().Options().Addr, s.Proxy().Addr(), other.Client().Options().Addr} {
		if seen[addr] {
			t.Errorf("%s twice", addr)
		}
		seen[addr] = true
	}
	for range 1 << 17 {
		addr := simAddr()
		if _, err := netip.ParseAddrPort(addr); err != nil || seen[addr] {
			t.Fatalf("%s: %v, or twice", addr, err)
		}
		seen[addr] = true
	}
}

func TestSimClientsShareItsData(t *testing.T) {
	s := NewSim(t)
	a, b := s.Client(), s.Client(func(o *redis.Options) { o.ClientName = "b" })
	check(t, a.Set(t.Context(), "k", "v", 0).Err())
	if v := b.Get(t.Context(), "k").Val(); v != "v" {
		t.Errorf("GET by another client = %q", v)
	}
	if v := b.ClientGetName(t.Context()).Val(); v != "b" {
		t.Errorf("the option had no effect: name %q", v)
	}
	if v, err := s.Miniredis().Get("k"); v != "v" {
		t.Errorf("Miniredis has %q, %v", v, err)
	}
	s.Miniredis().SetError("LOADING data")
	if err := a.Get(t.Context(), "k").Err(); !redis.HasErrorPrefix(err, "LOADING") {
		t.Errorf("GET = %v, want LOADING", err)
	}
}

// The bubble fails a test that leaves goroutines.
func TestSimCloseLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSim(t)
		rdb, proxied := s.Client(), s.Proxy().Client(t)
		sub := rdb.Subscribe(t.Context(), "c")
		for i := range 10 {
			check(t, rdb.Set(t.Context(), strconv.Itoa(i), i, 0).Err())
			check(t, proxied.Get(t.Context(), strconv.Itoa(i)).Err())
		}
		direct, err := s.Miniredis().Dial()
		check(t, err)
		s.Close()
		s.Close()
		sub.Close()
		if _, err := direct.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("a connection past the clients after Close: %v, want EOF", err)
		}
		if err := rdb.Ping(t.Context()).Err(); !errors.Is(err, redis.ErrClosed) {
			t.Errorf("PING after Close: %v, want ErrClosed", err)
		}
		late := s.Client(func(o *redis.Options) { o.DialerRetries = 1; o.MaxRetries = -1 })
		if err := late.Ping(t.Context()).Err(); !errors.Is(err, errSimClosed) {
			t.Errorf("PING by a client made after Close: %v, want %v", err, errSimClosed)
		}
	})
}
