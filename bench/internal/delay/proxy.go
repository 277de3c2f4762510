package delay

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// proxy forwards. As the delay is the same for all data of all connections, one
// queue holds it in the order in which it is due.
type proxy struct {
	target string
	each   atomic.Int64 // the delay each way, in nanoseconds
	queue  chan parcel
}

// parcel is a piece of data under way, or what is to be done instead of a delivery.
type parcel struct {
	due  time.Time
	to   *net.TCPConn
	data []byte
	act  func()
}

func (p *proxy) due() time.Time { return time.Now().Add(time.Duration(p.each.Load())) }

func (p *proxy) accept(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil {
			in.Close()
			continue
		}
		go p.serve(in.(*net.TCPConn), out.(*net.TCPConn))
	}
}

// serve forwards between two connections until both have ended.
func (p *proxy) serve(in, out *net.TCPConn) {
	var both sync.WaitGroup
	both.Go(func() { p.collect(in, out) })
	both.Go(func() { p.collect(out, in) })
	both.Wait()
	p.queue <- parcel{due: p.due(), act: func() { in.Close(); out.Close() }}
}

func (p *proxy) collect(from, to *net.TCPConn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		due := p.due()
		if n > 0 {
			p.queue <- parcel{due: due, to: to, data: slices.Clone(buf[:n])}
		}
		if err != nil {
			p.queue <- parcel{due: due, act: func() { to.CloseWrite() }}
			return
		}
	}
}

func (p *proxy) deliver() {
	for next := range p.queue {
		napUntil(next.due)
		if next.act != nil {
			next.act()
			continue
		}
		next.to.Write(next.data) // should it fail, then the reader of that connection learns of it
	}
}
