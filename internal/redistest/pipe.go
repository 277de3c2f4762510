package redistest

import (
	"net"
	"sync"
	"time"
)

// buffered is one end of a net.Pipe whose Write does not wait for the reader, as
// that of a socket does not. On the bare pipe a long pipeline and its replies would
// wait for each other.
type buffered struct {
	net.Conn
	wake   chan struct{}
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	pending []byte
	err     error
}

func newBuffered(c net.Conn) *buffered {
	b := &buffered{Conn: c, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	go b.pump()
	return b
}

func (b *buffered) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	b.pending = append(b.pending, p...)
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (b *buffered) pump() {
	for {
		select {
		case <-b.wake:
		case <-b.closed:
			return
		}
		b.mu.Lock()
		p := b.pending
		b.pending = nil
		b.mu.Unlock()
		if _, err := b.Conn.Write(p); err != nil {
			b.mu.Lock()
			b.err = err
			b.mu.Unlock()
			return
		}
	}
}

func (b *buffered) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Conn.Close()
}

// SetDeadline bounds reads alone: a Write never waits.
func (b *buffered) SetDeadline(t time.Time) error { return b.SetReadDeadline(t) }

// SetWriteDeadline does nothing.
func (b *buffered) SetWriteDeadline(time.Time) error { return nil }
