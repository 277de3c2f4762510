package redistest

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Proxy stands between clients and a Redis, reads what passes, and loses, holds or
// delays it as told. What it lets pass is byte for byte what came. Its methods are
// safe for concurrent use.
//
// It knows RESP2 and RESP3, pipelines and subscriptions; CLIENT REPLY and MONITOR
// are beyond it.
type Proxy struct {
	tb       testing.TB
	dial     func() (net.Conn, error) // to the server
	addr     string
	dialer   func(ctx context.Context, network, addr string) (net.Conn, error) // to the proxy; nil for TCP
	listener net.Listener                                                      // nil where there is no TCP

	work sync.WaitGroup // all goroutines

	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, at every change below
	closed  bool
	conns   map[*conn]struct{}
	faults  faults
	traffic traffic
}

// NewProxy runs a Proxy on a free loopback port, in front of the server at target,
// to which it connects anew for each connection that it accepts. The Cleanup of tb
// closes it and all connections.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("redistest: listen: %v", err)
	}
	p := newProxy(tb, func() (net.Conn, error) { return net.Dial("tcp", target) })
	p.addr, p.listener = l.Addr().String(), l
	p.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.serve(c)
		}
	})
	return p
}

func newProxy(tb testing.TB, dial func() (net.Conn, error)) *Proxy {
	p := &Proxy{tb: tb, dial: dial, changed: make(chan struct{}), conns: make(map[*conn]struct{})}
	p.traffic.reset()
	tb.Cleanup(p.close)
	return p
}

// Addr returns the address at which the proxy listens.
func (p *Proxy) Addr() string { return p.addr }

// Client returns a go-redis client that goes through the proxy, with go-redis's
// default options, as changed by opts. The Cleanup of tb closes it.
func (p *Proxy) Client(tb testing.TB, opts ...func(*redis.Options)) *redis.Client {
	tb.Helper()
	return newClient(tb, &redis.Options{Addr: p.addr, Dialer: p.dialer}, opts)
}

// serve takes over a connection from a client.
func (p *Proxy) serve(client net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.faults.refuse {
		client.Close()
		return
	}
	c := newConn(p, client)
	p.conns[c] = struct{}{}
	p.work.Go(c.readRequests)
	p.work.Go(c.forwardRequests)
}

func (p *Proxy) forget(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// change makes a change under the lock and tells all who wait for one.
func (p *Proxy) change(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fn()
	close(p.changed)
	p.changed = make(chan struct{})
}

// wait returns true when met is true, and false when stop is closed before. It
// calls met without the lock, again after each change.
func (p *Proxy) wait(stop <-chan struct{}, met func() bool) bool {
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		if met() {
			return true
		}
		select {
		case <-changed:
		case <-stop:
			return false
		}
	}
}

// close ends the proxy, its connections and goroutines.
func (p *Proxy) close() {
	p.change(func() { p.closed = true })
	if p.listener != nil {
		p.listener.Close()
	}
	p.each((*conn).close)
	p.work.Wait()
}

// each calls fn for the connections of this moment.
func (p *Proxy) each(fn func(*conn)) {
	p.mu.Lock()
	conns := make([]*conn, 0, len(p.conns))
	for c := range p.conns {
		conns = append(conns, c)
	}
	p.mu.Unlock()
	for _, c := range conns {
		fn(c)
	}
}
