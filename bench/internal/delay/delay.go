// Package delay is a TCP proxy that lets each piece of data arrive later by a fixed
// time, to play a network that is longer than the loopback. It runs in a process of
// its own, so that neither its work nor its waits count for the client.
package delay

import (
	"errors"
	"io"
	"math"
	"net"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/child"
)

// Role is the proxy's name among the roles of child.Main.
const Role = "delay"

// spec is what the proxy is told first; after it come other delays.
type spec struct {
	Target string
	Each   time.Duration // the delay each way
}

// Start starts a proxy in front of target in a child process, and returns its
// address. A round trip through it takes rtt on an idle machine, the proxy's own
// work included. Closing the child ends it.
func Start(target string, rtt time.Duration) (addr string, proxy *child.Process, err error) {
	proxy, err = child.Start(Role)
	if err != nil {
		return "", nil, err
	}
	if err = proxy.Send(spec{target, rtt / 2}); err == nil {
		err = proxy.Receive(&addr)
	}
	if err == nil {
		err = calibrate(proxy, addr, rtt)
	}
	if err != nil {
		return "", nil, errors.Join(err, proxy.Close())
	}
	return addr, proxy, nil
}

// calibrate takes from the delay what a round trip takes too long.
func calibrate(proxy *child.Process, addr string, rtt time.Duration) error {
	took, err := Ping(addr)
	if err != nil || took <= rtt {
		return err
	}
	return proxy.Send(max(0, rtt/2-(took-rtt)/2))
}

// Ping returns the time of a round trip to the Redis at addr: the least of some, as
// what makes one longer is other work of the machine.
func Ping(addr string) (time.Duration, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	reply := make([]byte, len("+PONG\r\n"))
	least := time.Duration(math.MaxInt64)
	for range 20 {
		start := time.Now()
		if _, err := c.Write([]byte("PING\r\n")); err != nil {
			return 0, err
		}
		if _, err := io.ReadFull(c, reply); err != nil {
			return 0, err
		}
		least = min(least, time.Since(start))
	}
	return least, nil
}

// Play is the proxy.
func Play(parent *child.Link) error {
	var s spec
	if err := parent.Receive(&s); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(4) // one for the thread that naps
	p := &proxy{target: s.Target, queue: make(chan parcel, 1<<16)}
	p.each.Store(int64(s.Each))
	go p.deliver()
	go p.accept(l)
	if err := parent.Send(l.Addr().String()); err != nil {
		return err
	}
	for {
		var each time.Duration
		switch err := parent.Receive(&each); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		p.each.Store(int64(each))
	}
}
