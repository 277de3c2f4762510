package telemetry

import (
	"context"

	"github.com/holdfast-go/holdfast/client"
)

// reconciliations are the ways in which a degraded lease fares when Redis is back.
var reconciliations = []string{"promoted", "conflict", "ended", "refused"}

// promoted has a degraded lease count as one in Redis from now on. Its age stays.
func (w *watcher) promoted(ev client.Event) {
	w.mode = w.class.modeOf(ev.Lease)
	w.mark.move(&w.mode.leases)
	if w.hold == nil {
		return
	}
	w.hold.SetAttributes(labelKeys[labelMode].String(w.mode.name))
	if fence, ok := ev.Lease.Fence(); ok {
		w.hold.SetAttributes(attrFence.Int64(int64(fence)))
	}
}

// move takes m over into l, among those of its age.
func (m *mark) move(l *lane) {
	m.leave()
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.tail
	for before != nil && before.since.After(m.since) {
		before = before.prev
	}
	m.lane, m.prev = l, before
	if before == nil {
		m.next, l.head = l.head, m
	} else {
		m.next, before.next = before.next, m
	}
	if m.next == nil {
		l.tail = m
	} else {
		m.next.prev = m
	}
	l.n++
}

func (h *hub) reconciled(c *class, result string, n int) {
	h.add(context.Background(), h.reconciliations, n, labels{labelClass: c.name, labelResult: result})
}
