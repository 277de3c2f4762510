package main

import (
	"io"
	"net"
	"sync"
)

// proxy stands between the workers and Redis. Cut, it drops all connections and
// accepts none, as a Redis does that has stopped.
type proxy struct {
	listener        net.Listener
	network, target string
	work            sync.WaitGroup

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]struct{}
}

// openProxy listens on a free loopback port, in front of the Redis at target.
func openProxy(network, target string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, network: network, target: target, conns: make(map[net.Conn]struct{})}
	p.work.Go(p.accept)
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if !p.admit(client) {
			continue
		}
		p.work.Go(func() {
			defer p.drop(client)
			redis, err := net.Dial(p.network, p.target)
			if err != nil || !p.admit(redis) {
				return
			}
			defer p.drop(redis)
			p.work.Go(func() {
				defer p.drop(client)
				io.Copy(client, redis)
			})
			io.Copy(redis, client)
		})
	}
}

// admit keeps account of c, or closes it while the proxy is cut.
func (p *proxy) admit(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *proxy) drop(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// cut stops Redis, as far as the workers can see.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for c := range p.conns {
		c.Close()
	}
}

// mend has Redis be back.
func (p *proxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

func (p *proxy) close() {
	p.listener.Close()
	p.cut()
	p.work.Wait()
}
