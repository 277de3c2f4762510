package fallback

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Drill forces classes into degraded mode, for operators who want to see what their
// application does then. It is given to a pipeline by Policies.Drill; one may serve any
// number of Clients, and its zero value is ready. It is safe for concurrent use.
//
// In a drill all is as in an outage: the quarantine, counted from the beginning of the
// drill, the bounds, the leases, and at the end their promotion, of which a conflict is
// one possible end. Only Redis is not gone. So to the other processes a drill is the
// partition that Local warns of: they go on with the lock in Redis, and leases that
// Redis granted before go on being renewed, however long the quarantine is. Drill where
// Local is sound, and all processes at the same time.
type Drill struct {
	mu      sync.Mutex
	classes map[string]bool
	layers  []*degrader
}

// Begin puts a class into degraded mode, until End. It fails with client.ErrInvalid
// where the class is not Local in any of the Clients: there is nothing to rehearse.
func (d *Drill) Begin(class string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.ContainsFunc(d.layers, func(l *degrader) bool { return l.local(class) != nil }) {
		return invalid("class %q has no Local policy, so it cannot be degraded", class)
	}
	if d.classes == nil {
		d.classes = make(map[string]bool)
	}
	d.classes[class] = true
	for _, l := range d.layers {
		l.beginDrill(class)
	}
	return nil
}

// End has a class leave degraded mode, as when Redis is back: its degraded leases are
// promoted, and calls go to Redis again. It does not wait for that. Where Redis cannot
// be reached the class stays degraded until it can. Ending what was not begun does
// nothing.
func (d *Drill) End(class string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.classes, class)
	for _, l := range d.layers {
		l.endDrill(class)
	}
}

// Active tells whether a drill of the class has begun and not ended.
func (d *Drill) Active(class string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.classes[class]
}

// join has l take part, until its breaker is closed.
func (d *Drill) join(l *degrader) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.layers = append(d.layers, l)
	for class := range d.classes {
		l.beginDrill(class)
	}
	context.AfterFunc(l.breaker.ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.layers = slices.DeleteFunc(d.layers, func(o *degrader) bool { return o == l })
	})
}

// exercise is the drill of one class in one layer.
type exercise struct {
	*outage
	leaving bool // it is to end
	closing bool // somebody sees to it
}

func (d *degrader) beginDrill(class string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.drills[class]; e != nil {
		e.leaving = false
		return
	}
	if d.local(class) == nil {
		return
	}
	if d.drills == nil {
		d.drills = make(map[string]*exercise)
	}
	d.drills[class] = &exercise{outage: newOutage(&OpenError{Breaker: d.breaker.cfg.Name, Drill: true})}
	d.drills[class].drill = true
	d.drilling.Add(1)
	d.logDrill(slog.LevelWarn, "holdfast: a drill begins: the class goes into degraded mode", class)
}

func (d *degrader) endDrill(class string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.drills[class]
	if e == nil {
		return
	}
	e.leaving = true
	if !e.closing {
		e.closing = d.breaker.inBackground(func() { d.leaveDrill(class, e) })
	}
}

// leaveDrill closes a drill, as often as it takes, unless it is begun again.
func (d *degrader) leaveDrill(class string, e *exercise) {
	for gap := firstGap; ; gap = min(2*gap, time.Second) {
		over := make(chan bool, 1)
		d.breaker.leave(e.outage, func(ok bool) { over <- d.drillOver(class, e, ok) })
		if <-over {
			return
		}
		if !d.breaker.pause(gap) {
			return
		}
	}
}

// drillOver is false where the drill has to be closed once more.
func (d *degrader) drillOver(class string, e *exercise, ok bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !e.leaving:
		e.closing = false
		return true
	case !ok:
		return false
	}
	delete(d.drills, class)
	d.drilling.Add(-1)
	close(e.over)
	d.logDrill(slog.LevelInfo, "holdfast: the drill is over: locks are taken in Redis again", class, d.breaker.ledger.tallyOf(e.outage).attrs()...)
	return true
}

func (d *degrader) logDrill(level slog.Level, msg, class string, more ...slog.Attr) {
	attrs := append([]slog.Attr{slog.String("breaker", d.breaker.cfg.Name), slog.String("class", class)}, more...)
	d.breaker.cfg.Logger.LogAttrs(context.Background(), level, msg, attrs...)
}

// drillOf is the drill of a class, nil if there is none.
func (d *degrader) drillOf(class string) *outage {
	if d.drilling.Load() == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.drills[class]; e != nil {
		return e.outage
	}
	return nil
}
