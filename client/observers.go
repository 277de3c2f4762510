package client

import (
	"log/slog"
	"sync"
)

// observers delivers a lease's events to its observers, one after another.
type observers struct {
	lease *Lease
	log   *slog.Logger

	mu         sync.Mutex
	fns        []func(Event)
	pending    []Event
	delivering bool
	ended      *Event
}

func (o *observers) add(fn func(Event)) {
	o.mu.Lock()
	ended := o.ended
	if ended == nil {
		o.fns = append(o.fns, fn)
	}
	o.mu.Unlock()
	if ended != nil {
		o.call(fn, *ended)
	}
}

// push queues ev; drain delivers it.
func (o *observers) push(ev Event) {
	ev.Lease = o.lease
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pending = append(o.pending, ev)
}

// drain delivers what is queued, unless another goroutine is at it already, which
// then delivers this too.
func (o *observers) drain() {
	o.mu.Lock()
	if o.delivering {
		o.mu.Unlock()
		return
	}
	o.delivering = true
	for len(o.pending) > 0 {
		ev := o.pending[0]
		o.pending = o.pending[1:]
		if ev.Kind == EventEnded {
			o.ended = &ev
		}
		fns := o.fns
		o.mu.Unlock()
		for _, fn := range fns {
			o.call(fn, ev)
		}
		o.mu.Lock()
	}
	o.delivering = false
	o.mu.Unlock()
}

func (o *observers) call(fn func(Event), ev Event) {
	defer func() {
		if p := recover(); p != nil {
			o.log.Error("holdfast: an observer of a lease panicked", "panic", p, "key", ev.Lease.Key())
		}
	}()
	fn(ev)
}

// dispatcher delivers the events that no caller's goroutine delivers. Its
// goroutine lives while there are any.
type dispatcher struct {
	mu      sync.Mutex
	queue   []*observers
	running bool
	work    tracker
}

func (d *dispatcher) post(h *hold, ev Event) {
	h.observers.push(ev)
	d.deliver(h)
}

func (d *dispatcher) deliver(h *hold) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = append(d.queue, &h.observers)
	if !d.running {
		d.running = true
		d.work.add(1)
		go d.run()
	}
}

func (d *dispatcher) run() {
	defer d.work.add(-1)
	for {
		d.mu.Lock()
		queue := d.queue
		d.queue = nil
		if len(queue) == 0 {
			d.running = false
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		for _, o := range queue {
			o.drain()
		}
	}
}
