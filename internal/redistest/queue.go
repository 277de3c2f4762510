package redistest

import (
	"iter"
	"sync"
	"time"
)

// packet is a message on its way, as it came.
type packet struct {
	raw     []byte
	at      time.Time // when it came
	command Command   // the request, or that to which this is the reply; no name: neither
	joined  bool      // a request that was there already when the one before had been read
}

// queue holds the packets of one direction, without bound: a full queue would
// hide from its reader when a packet came.
type queue struct {
	mu      sync.Mutex
	packets []packet
	ended   bool
	news    chan struct{} // has a token after add and end
}

func newQueue() *queue { return &queue{news: make(chan struct{}, 1)} }

func (q *queue) add(p packet) {
	q.mu.Lock()
	q.packets = append(q.packets, p)
	q.mu.Unlock()
	q.tell()
}

// end says that nothing will be added any more.
func (q *queue) end() {
	q.mu.Lock()
	q.ended = true
	q.mu.Unlock()
	q.tell()
}

func (q *queue) tell() {
	select {
	case q.news <- struct{}{}:
	default:
	}
}

// all yields the packets, one after the other, until the end or until done is
// closed. One goroutine may take from a queue.
func (q *queue) all(done <-chan struct{}) iter.Seq[packet] {
	return func(yield func(packet) bool) {
		for {
			q.mu.Lock()
			packets, ended := q.packets, q.ended
			q.packets = nil
			q.mu.Unlock()
			for _, p := range packets {
				if !yield(p) {
					return
				}
			}
			if ended {
				return
			}
			select {
			case <-q.news:
			case <-done:
				return
			}
		}
	}
}
