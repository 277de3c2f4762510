package main

import (
	"io"
	"net"
	"sync"
)

// proxy stands between the workers and Redis. Cut, it drops all connections and
// accepts none, as a Redis does that has stopped.
type proxy struct {
	listener net.Listener
	target   string
	work     sync.WaitGroup

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]struct{}
}

func openProxy(target string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, target: target, conns: make(map[net.Conn]struct{})}
	p.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.work.Go(func() { p.serve(c) })
		}
	})
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) serve(worker net.Conn) {
	defer worker.Close()
	redis, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer redis.Close()
	if !p.admit(worker) {
		return
	}
	defer p.forget(worker)
	p.work.Go(func() {
		_, _ = io.Copy(worker, redis) // until either end is closed
		worker.Close()
	})
	_, _ = io.Copy(redis, worker)
}

func (p *proxy) admit(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
	return !p.down
}

func (p *proxy) forget(c net.Conn) {
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
