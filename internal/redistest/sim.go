package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

var (
	errSimClosed = errors.New("redistest: the simulated Redis is closed")
	simCount     atomic.Uint32
)

// simAddr returns an address that no other simulated Redis of the process has:
// Clients of equal endpoints share a gate. It is a literal IP, which nobody tries
// to resolve.
func simAddr() string {
	n := simCount.Add(1)
	return fmt.Sprintf("127.%d.%d.%d:6379", n>>16&0xff, n>>8&0xff, n&0xff)
}

// Sim is a simulated Redis (miniredis) inside the process, reached without a
// socket. Its keys expire by time.Now, which in a testing/synctest bubble is the
// bubble's clock.
type Sim struct {
	tb   testing.TB
	addr string
	m    *miniredis.Miniredis

	mu      sync.Mutex
	closed  bool
	clients []*redis.Client
}

// NewSim makes a simulated Redis, which the Cleanup of tb closes. In a synctest
// bubble tb must be the T that synctest.Test gave, for the Cleanup to run inside.
func NewSim(tb testing.TB) *Sim {
	s := &Sim{tb: tb, addr: simAddr(), m: miniredis.NewMiniRedis()}
	s.m.ClockTTL(true)
	tb.Cleanup(s.Close)
	return s
}

// Client returns a go-redis client of the simulated Redis with go-redis's default
// options, as changed by opts. Close, or the Cleanup, closes it.
func (s *Sim) Client(opts ...func(*redis.Options)) *redis.Client {
	o := &redis.Options{Addr: s.addr, Dialer: func(context.Context, string, string) (net.Conn, error) {
		return s.dial()
	}}
	rdb := newClient(s.tb, o, opts)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = append(s.clients, rdb)
	return rdb
}

// Proxy returns a Proxy in front of the simulated Redis. It works without a
// socket too: only its Client reaches it, and its Addr is but a name.
func (s *Sim) Proxy() *Proxy {
	p := newProxy(s.tb, s.dial)
	p.addr = simAddr()
	p.dialer = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		p.serve(server)
		return client, nil
	}
	return p
}

// dial connects. Once s is closed it refuses, where Miniredis.Dial would start a
// new server.
func (s *Sim) dial() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errSimClosed
	}
	c, err := s.m.Dial()
	if err != nil {
		return nil, err
	}
	return newBuffered(c), nil
}

// Miniredis returns the simulation itself, to look into or to make it fail
// (SetError). Its own Addr is not in use.
func (s *Sim) Miniredis() *miniredis.Miniredis { return s.m }

// Close closes the clients and the simulated Redis. When it returns none of their
// goroutines is left. A second Close does nothing.
func (s *Sim) Close() {
	s.mu.Lock()
	closed, clients := s.closed, slices.Clone(s.clients)
	s.closed = true
	s.mu.Unlock()
	if closed {
		return
	}
	for _, rdb := range clients {
		rdb.Close()
	}
	s.m.Close()
}
