package redistest

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"time"
)

// conn is a connection through the proxy. Of its four goroutines two read, and two
// wait, forward and decide: so that what comes in is stamped when it comes.
type conn struct {
	p        *Proxy
	client   net.Conn
	requests *queue
	replies  *queue
	done     chan struct{} // closed when both ends are

	mu         sync.Mutex
	server     net.Conn  // nil until connected
	pending    []Command // sent, not answered
	subscribed bool
	counted    bool // the batch under way counts as a round trip
	closed     bool
}

func newConn(p *Proxy, client net.Conn) *conn {
	return &conn{p: p, client: client, done: make(chan struct{}),
		requests: newQueue(), replies: newQueue()}
}

func (c *conn) readRequests() {
	defer c.requests.end()
	r := newReader(c.client)
	for {
		joined := r.buffered()
		args, err := r.command()
		if err != nil {
			c.ended(err)
		}
		c.requests.add(packet{raw: r.taken(), at: time.Now(), command: newCommand(args), joined: joined})
		if err != nil {
			return
		}
	}
}

func (c *conn) forwardRequests() {
	if !c.connect() {
		c.close()
		return
	}
	c.p.work.Go(c.readReplies)
	c.p.work.Go(c.forwardReplies)
	for pkt := range c.requests.all(c.done) {
		if !c.pass(pkt.at, Command{}) {
			return
		}
		c.sent(pkt)
		c.server.Write(pkt.raw) // should it fail, then readReplies learns of it too
	}
	if c.pass(time.Now(), Command{}) {
		c.closeWrite()
	}
}

// connect reaches the server, as soon as there is a way.
func (c *conn) connect() bool {
	if !c.pass(time.Now(), Command{}) {
		return false
	}
	server, err := c.p.dial()
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = server
	if c.closed {
		server.Close()
	}
	return !c.closed
}

func (c *conn) readReplies() {
	defer c.replies.end()
	r := newReader(c.server)
	for {
		err := r.value()
		if err != nil {
			c.ended(err)
		}
		pkt := packet{raw: r.taken(), at: time.Now()}
		if err == nil {
			pkt.command = c.answered(pkt.raw)
		}
		c.replies.add(pkt)
		if err != nil {
			return
		}
	}
}

func (c *conn) forwardReplies() {
	defer c.close()
	silent := false // of the server: its messages are read and go no further
	for pkt := range c.replies.all(c.done) {
		if !c.pass(pkt.at, pkt.command) {
			return
		}
		if lost, quietly := c.lost(pkt); lost {
			silent = true
			if !quietly {
				c.client.Close()
			}
		}
		if silent {
			continue
		}
		if _, err := c.client.Write(pkt.raw); err != nil {
			silent = true // the client has gone, what it sent has not
		}
	}
	c.pass(time.Now(), Command{})
}

// pass returns when the faults let a message pass that came at the instant given,
// false if the connection was closed before. The command of a reply is that which
// it answers; of all else it is none.
func (c *conn) pass(came time.Time, reply Command) bool {
	if wait := time.Until(came.Add(c.p.currentFaults().delay)); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.done:
			return false
		}
	}
	return c.p.wait(c.done, func() bool { return c.p.currentFaults().allows(reply) })
}

// sent counts a request that goes on to the server.
func (c *conn) sent(pkt packet) {
	cmd := pkt.command
	if cmd.Name == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !pkt.joined && len(c.pending) == 0 {
		c.counted = false
	}
	trip := !cmd.Handshake() && !c.counted
	c.counted = c.counted || trip
	if cmd.subscription() {
		c.subscribed = true
	} else {
		c.pending = append(c.pending, cmd)
	}
	c.p.change(func() { c.p.traffic.sent(cmd, trip) })
}

// answered returns the command to which raw is the reply, one without a name if
// raw is a message that nobody asked for.
func (c *conn) answered(raw []byte) Command {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 || raw[0] == '>' || c.subscribed && published(raw) {
		return Command{}
	}
	cmd := c.pending[0]
	c.pending = c.pending[1:]
	c.p.change(func() { c.p.traffic.answered(cmd) })
	return cmd
}

// lost tells whether the reply is to be dropped.
func (c *conn) lost(pkt packet) (lost, silent bool) {
	if pkt.command.Name == "" || bytes.HasPrefix(pkt.raw, []byte("-NOSCRIPT")) {
		return false, false
	}
	c.p.change(func() {
		lost, silent = c.p.faults.lost(pkt.command)
		if lost {
			c.p.traffic.stats.Dropped++
		}
	})
	return lost, silent
}

// ended reports a stream that is not RESP; that a connection ends is no news.
func (c *conn) ended(err error) {
	if errors.Is(err, errProtocol) {
		c.p.tb.Errorf("redistest: proxy: %v", err)
	}
}

func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	close(c.done)
	c.client.Close()
	if c.server != nil {
		c.server.Close()
	}
	c.p.forget(c)
}

// reset is close with a TCP reset towards the client.
func (c *conn) reset() {
	if tcp, ok := c.client.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.close()
}

// closeWrite tells the server that no more will come. A pipe has no half to close:
// it stays until the server has answered.
func (c *conn) closeWrite() {
	if tcp, ok := c.server.(*net.TCPConn); ok {
		tcp.CloseWrite()
		return
	}
	c.p.wait(c.done, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.pending) == 0
	})
	c.server.Close()
}
