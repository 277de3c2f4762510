package telemetry

import (
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/client"
)

const (
	maxClasses = 64
	otherClass = "_OTHER" // what OpenTelemetry calls the value that stands for the rest
)

// The modes of a lease.
const (
	modeDistributed = "distributed"
	modeDegraded    = "degraded"
)

// class is all that is kept for one class of locks.
type class struct {
	name        string
	waiters     lane
	distributed mode
	degraded    mode
	primed      atomic.Bool

	granted, freed atomic.Pointer[series] // of the attempts and the releases that do well

	acquireSpan, releaseSpan, renewSpan, holdSpan string      // names
	wait, try, internal                           spanOptions // of an acquire that waits, of one that does not, of others
}

// mode is what is kept for the leases of a class and mode.
type mode struct {
	name   string
	leases lane
	span   spanOptions

	acquired, released atomic.Pointer[series] // of the waits and the holds that end well
}

type spanOptions []trace.SpanStartOption

func newClass(name string) *class {
	named := labelKeys[labelClass].String(name)
	options := func(kvs ...attribute.KeyValue) spanOptions {
		return spanOptions{trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(kvs...)}
	}
	c := &class{
		name:        name,
		wait:        options(named, attrWait.Bool(true)),
		try:         options(named, attrWait.Bool(false)),
		internal:    options(named),
		acquireSpan: "acquire " + name,
		releaseSpan: "release " + name,
		renewSpan:   "renew " + name,
		holdSpan:    "hold " + name,
	}
	for name, m := range map[string]*mode{modeDistributed: &c.distributed, modeDegraded: &c.degraded} {
		m.name, m.span = name, options(named, labelKeys[labelMode].String(name))
	}
	return c
}

// modeOf is the mode of a lease.
func (c *class) modeOf(l *client.Lease) *mode {
	if l.Degraded() {
		return &c.degraded
	}
	return &c.distributed
}

// classes are the classes seen so far, up to maxClasses and one for the rest.
type classes struct {
	mu sync.RWMutex
	m  map[string]*class
}

func (c *classes) of(name string) *class {
	if k := c.known(name); k != nil {
		return k
	}
	name = valid(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m[name] == nil && len(c.m) >= maxClasses {
		name = otherClass
	}
	if k := c.m[name]; k != nil {
		return k
	}
	if c.m == nil {
		c.m = make(map[string]*class)
	}
	k := newClass(name)
	c.m[name] = k
	return k
}

// known returns the class under which name goes, nil if that is yet to be made.
func (c *classes) known(name string) *class {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if k := c.m[name]; k != nil || len(c.m) <= maxClasses {
		return k
	}
	return c.m[otherClass]
}

// all returns the classes seen so far.
func (c *classes) all() []*class {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make([]*class, 0, len(c.m))
	for _, k := range c.m {
		all = append(all, k)
	}
	return all
}
