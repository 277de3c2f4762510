package telemetry

import (
	"sync"
	"time"
)

// lane is a number of things that live at present, the oldest first. Count and age
// come from one list, so that they agree.
type lane struct {
	mu         sync.Mutex
	head, tail *mark
	n          int
}

// mark is one thing's place in a lane. It is used once, by one goroutine at a time.
type mark struct {
	lane       *lane
	of         any // the thing
	since      time.Time
	prev, next *mark
}

// enter puts m, which stands for of, at the end of the lane.
func (l *lane) enter(m *mark, of any, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.lane, m.of, m.since, m.prev = l, of, now, l.tail
	if l.tail == nil {
		l.head = m
	} else {
		l.tail.next = m
	}
	l.tail = m
	l.n++
}

// leave takes m out of its lane.
func (m *mark) leave() {
	l := m.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.prev == nil {
		l.head = m.next
	} else {
		m.prev.next = m.next
	}
	if m.next == nil {
		l.tail = m.prev
	} else {
		m.next.prev = m.prev
	}
	m.prev, m.next = nil, nil
	l.n--
}

// read returns how many are in the lane, and the age of the oldest.
func (l *lane) read() (n int64, age time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head != nil {
		age = time.Since(l.head.since)
	}
	return int64(l.n), age
}

// each calls fn for all that is in the lane, the oldest first.
func (l *lane) each(fn func(since time.Time, of any)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for m := l.head; m != nil; m = m.next {
		fn(m.since, m.of)
	}
}
