package telemetry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/client"
)

// census is all that is held and awaited at one moment, of the Clients of one page.
type census struct {
	page    *Page
	now     time.Time
	leases  []standing[*watcher]
	waiters []standing[*acquire]
	holders map[lockName]standing[*watcher]
	waiting map[lockName]int
}

// standing is something since when it lives.
type standing[T any] struct {
	since time.Time
	of    T
}

// lockName is one lock of this process.
type lockName struct{ scope, key string }

// newCensus counts what the hubs of members know, the oldest first.
func newCensus(p *Page, members []*Telemetry, now time.Time) *census {
	c := &census{page: p, now: now, holders: make(map[lockName]standing[*watcher]), waiting: make(map[lockName]int)}
	var hubs []*hub
	for _, t := range members {
		if !slices.Contains(hubs, t.hub) {
			hubs = append(hubs, t.hub)
		}
	}
	for _, h := range hubs {
		for _, k := range h.classes.all() {
			for _, l := range []*lane{&k.waiters, &k.distributed.leases, &k.degraded.leases} {
				l.each(c.count)
			}
		}
	}
	slices.SortStableFunc(c.leases, func(a, b standing[*watcher]) int { return cmp.Compare(a.since.UnixNano(), b.since.UnixNano()) })
	slices.SortStableFunc(c.waiters, func(a, b standing[*acquire]) int { return cmp.Compare(a.since.UnixNano(), b.since.UnixNano()) })
	for _, l := range c.leases {
		for _, name := range l.of.asked.locks() {
			c.holders[name] = l
		}
	}
	return c
}

// count runs under the lock of a lane: it asks nobody else.
func (c *census) count(since time.Time, of any) {
	switch of := of.(type) {
	case *watcher:
		if of.t.page == c.page {
			c.leases = append(c.leases, standing[*watcher]{since, of})
		}
	case *acquire:
		if of.t.page == c.page {
			c.waiters = append(c.waiters, standing[*acquire]{since, of})
		}
	}
}

// into fills s.
func (c *census) into(s *snapshot) {
	classes := make(map[string]*classRow)
	of := func(k *class) *classRow {
		if classes[k.name] == nil {
			classes[k.name] = &classRow{Class: k.name}
		}
		return classes[k.name]
	}
	for _, w := range c.waiters {
		row := of(w.of.class)
		row.Waiters++
		row.WaiterAge = max(row.WaiterAge, c.age(w.since))
		s.Waiters.add(c.waiter(w))
	}
	for _, l := range c.leases {
		row := of(l.of.class)
		row.Leases++
		row.LeaseAge = max(row.LeaseAge, c.age(l.since))
		lease := c.lease(l)
		if s.Leases.add(lease); lease.Degraded {
			s.Degraded.add(lease)
		}
	}
	for _, row := range classes {
		s.Classes = append(s.Classes, *row)
	}
	slices.SortFunc(s.Classes, func(a, b classRow) int { return cmp.Compare(a.Class, b.Class) })
}

func (c *census) age(since time.Time) float64 { return max(c.now.Sub(since), 0).Seconds() }

func (c *census) lease(l standing[*watcher]) leaseRow {
	w := l.of
	row := leaseRow{
		Class: w.class.name, Key: c.name(w.asked), Mode: w.asked.modeText(), Degraded: w.lease.Degraded(),
		Age: c.age(l.since), TTL: time.Duration(w.ttl.Load()).Seconds(), Left: max(w.lease.Deadline().Sub(c.now), 0).Seconds(),
		Renewals: w.renewals.Load(), Failing: w.failing.Load(), Trace: traceID(w.acquire),
	}
	if w.downgraded.Load() {
		row.Mode = client.SharedMode.String()
	}
	row.Fence, _ = w.lease.Fence()
	for _, name := range w.asked.locks() {
		row.Waiting += c.waiting[name]
	}
	return row
}

func (c *census) waiter(w standing[*acquire]) waiterRow {
	a := w.of
	row := waiterRow{
		Class: a.class.name, Key: c.name(a.asked), Mode: a.asked.modeText(),
		Age: c.age(w.since), Attempts: a.call.Attempts(), Trace: traceID(a.span.SpanContext()),
	}
	for _, name := range a.asked.locks() {
		row.Ahead = max(row.Ahead, c.waiting[name])
		c.waiting[name]++
	}
	_, last := a.call.Blockers()
	if last != nil {
		row.Position = last.Position
	}
	row.Blocker = c.blocker(a, last, row.Ahead)
	return row
}

// blocker is who holds the lock for which a waits: a lease of this process, which is
// known for certain, or else whom the call met last.
func (c *census) blocker(a *acquire, met *client.HeldError, ahead int) *blocker {
	for _, name := range a.asked.locks() {
		if h, ok := c.holders[name]; ok {
			b := &blocker{Local: true, HeldFor: c.age(h.since), Trace: traceID(h.of.acquire)}
			b.Fence, _ = h.of.lease.Fence()
			return b
		}
	}
	switch {
	case met == nil && ahead > 0:
		return &blocker{Local: true} // one who contends for this process
	case met == nil:
		return nil
	}
	b := &blocker{Holder: valid(met.Holder), Local: met.Local, Resting: met.Resting}
	if !met.Since.IsZero() {
		b.HeldFor = c.age(met.Since)
	}
	if sc, ok := parseTraceparent(met.Traceparent); ok {
		b.Trace = traceID(sc)
	}
	return b
}

// name is how the page names the lock, or the locks, that a call wants.
func (c *census) name(a *asked) string {
	if a.keys == nil {
		return c.page.name(a.key)
	}
	names := make([]string, len(a.keys))
	for i, key := range a.keys {
		names[i] = c.page.name(key)
	}
	return strings.Join(names, ", ")
}

func (a *asked) locks() []lockName {
	if a.keys == nil {
		return []lockName{{a.scope, a.key}}
	}
	names := make([]lockName, len(a.keys))
	for i, key := range a.keys {
		names[i] = lockName{a.scope, key}
	}
	return names
}

func (a *asked) modeText() string {
	if a.mode == client.SlotsMode {
		return fmt.Sprintf("%s %d", a.mode, a.slots)
	}
	return a.mode.String()
}

func traceID(sc trace.SpanContext) string {
	if !sc.IsSampled() {
		return ""
	}
	return sc.TraceID().String()
}
