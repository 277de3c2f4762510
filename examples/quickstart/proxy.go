package main

import (
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
	conns map[net.Conn]struct{}

	flow sync.RWMutex // held to pass bytes on, so that a cut is one instant for all
	down bool
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
		worker, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.serve(worker) })
	}
}

func (p *proxy) serve(worker net.Conn) {
	defer p.admit(worker)()
	redis, err := net.Dial(p.network, p.target)
	if err != nil {
		return
	}
	defer p.admit(redis)()
	p.work.Go(func() {
		defer worker.Close()
		p.pass(worker, redis)
	})
	p.pass(redis, worker)
}

// admit has a cut close c, and returns what closes it otherwise.
func (p *proxy) admit(c net.Conn) (drop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
	return func() {
		c.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
	}
}

// pass copies until either end is closed, or the proxy cut.
func (p *proxy) pass(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil || !p.passOne(to, buf[:n]) {
			return
		}
	}
}

func (p *proxy) passOne(to net.Conn, data []byte) bool {
	p.flow.RLock()
	defer p.flow.RUnlock()
	if p.down {
		return false
	}
	_, err := to.Write(data)
	return err == nil
}

// cut stops Redis, as far as the workers can see.
func (p *proxy) cut() {
	p.set(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// mend has Redis be back.
func (p *proxy) mend() { p.set(false) }

func (p *proxy) set(down bool) {
	p.flow.Lock()
	defer p.flow.Unlock()
	p.down = down
}

func (p *proxy) close() {
	p.listener.Close()
	p.cut()
	p.work.Wait()
}
