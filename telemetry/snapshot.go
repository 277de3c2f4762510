package telemetry

import (
	"os"
	"time"
)

// maxRows bounds each list of a page: of more the oldest are shown.
const maxRows = 500

// snapshot is a page at one moment, in the form in which it goes out as JSON. Times
// are in seconds. It holds no token and no key.
type snapshot struct {
	At          time.Time       `json:"at"`
	PID         int             `json:"pid"`
	Classes     []classRow      `json:"classes"`
	Leases      list[leaseRow]  `json:"leases"`
	Degraded    list[leaseRow]  `json:"degraded"` // those of Leases that this process alone knows of
	Waiters     list[waiterRow] `json:"waiters"`
	Clients     []clientRow     `json:"clients"`
	Transitions []transitionRow `json:"transitions"` // the latest first
}

// list is the oldest of so many.
type list[T any] struct {
	Total int `json:"total"`
	Rows  []T `json:"rows"`
}

func (l *list[T]) add(row T) {
	if l.Total++; len(l.Rows) < maxRows {
		l.Rows = append(l.Rows, row)
	}
}

// Missing is how many are not shown.
func (l list[T]) Missing() int { return l.Total - len(l.Rows) }

// classRow is what is held and awaited in one class.
type classRow struct {
	Class     string  `json:"class"`
	Leases    int     `json:"leases"`
	LeaseAge  float64 `json:"lease_age_max"`
	Waiters   int     `json:"waiters"`
	WaiterAge float64 `json:"waiter_age_max"`
}

// leaseRow is one lease.
type leaseRow struct {
	Class    string  `json:"class"`
	Key      string  `json:"key"` // as the page names it
	Mode     string  `json:"mode"`
	Degraded bool    `json:"degraded"`
	Age      float64 `json:"age"`
	TTL      float64 `json:"ttl"`      // from the last grant or renewal to the deadline, as far as known
	Left     float64 `json:"ttl_left"` // to the deadline; 0 if it has passed
	Renewals int64   `json:"renewals"`
	Failing  bool    `json:"renewal_failing"`
	Fence    uint64  `json:"fence,omitempty"`
	Trace    string  `json:"trace_id,omitempty"` // of the acquire, if it was sampled
	Waiting  int     `json:"waiting"`            // how many of this process wait for its lock
}

// waiterRow is one acquire under way.
type waiterRow struct {
	Class    string   `json:"class"`
	Key      string   `json:"key"` // as the page names it
	Mode     string   `json:"mode"`
	Age      float64  `json:"age"`
	Attempts int      `json:"attempts"`
	Position int      `json:"position,omitempty"` // in the queue in Redis, when last told; 0 outside it
	Ahead    int      `json:"ahead"`              // of this process, how many have waited longer for the lock
	Blocker  *blocker `json:"blocker,omitempty"`
	Trace    string   `json:"trace_id,omitempty"`
}

// blocker is who keeps a waiter waiting.
type blocker struct {
	Holder  string  `json:"holder,omitempty"` // its identity
	Local   bool    `json:"local"`            // it is of this process
	Resting bool    `json:"resting"`          // nobody holds the lock; WithMinHold keeps it
	HeldFor float64 `json:"held_for,omitempty"`
	Fence   uint64  `json:"fence,omitempty"`
	Trace   string  `json:"trace_id,omitempty"`
}

// clientRow is one Client.
type clientRow struct {
	Identity string       `json:"identity"`
	Prefix   string       `json:"prefix"`
	Pipeline []string     `json:"pipeline"`
	Warnings []string     `json:"warnings"`
	Breakers []breakerRow `json:"breakers"`
}

type breakerRow struct {
	Name     string  `json:"name"`
	State    string  `json:"state"`
	For      float64 `json:"state_age,omitempty"`
	OpenTime float64 `json:"not_closed"` // all in all
}

type transitionRow struct {
	At     time.Time `json:"at"`
	Ago    float64   `json:"ago"`
	Weight weight    `json:"weight"` // good, note, bad
	What   string    `json:"what"`
	Class  string    `json:"class,omitempty"`
	Key    string    `json:"key,omitempty"`
	Detail string    `json:"detail,omitempty"`
	Times  int       `json:"times"`
}

// snapshot is the page now.
func (p *Page) snapshot() *snapshot {
	now := time.Now()
	s := &snapshot{At: now, PID: os.Getpid(), Classes: []classRow{}, Clients: []clientRow{}, Transitions: []transitionRow{}}
	s.Leases.Rows, s.Degraded.Rows, s.Waiters.Rows = []leaseRow{}, []leaseRow{}, []waiterRow{}
	members := p.present()
	for _, t := range members {
		s.Clients = append(s.Clients, t.clientRows(now)...)
	}
	c := newCensus(p, members, now)
	c.into(s)
	for _, t := range p.log.all() {
		row := transitionRow{At: t.at, Ago: now.Sub(t.at).Seconds(), Weight: t.weight, What: t.what, Class: t.class, Detail: t.detail, Times: t.times}
		if t.of != nil {
			row.Key = c.name(t.of)
		}
		s.Transitions = append(s.Transitions, row)
	}
	return s
}

// clientRows are the Clients of t. Its breakers go with the first of them.
func (t *Telemetry) clientRows(now time.Time) []clientRow {
	t.mu.Lock()
	clients, breakers := t.clients, t.breakers
	t.mu.Unlock()
	if len(clients) == 0 {
		clients = []ClientInfo{{}}
	}
	rows := make([]clientRow, 0, len(clients))
	for _, c := range clients {
		rows = append(rows, clientRow{Identity: c.Identity, Prefix: c.Prefix,
			Pipeline: append([]string{}, c.Pipeline...), Warnings: append([]string{}, c.Warnings...), Breakers: []breakerRow{}})
	}
	for _, b := range breakers {
		row := breakerRow{Name: b.Name, State: b.State(), OpenTime: b.OpenTime().Seconds()}
		if b.Since != nil {
			row.For = now.Sub(b.Since()).Seconds()
		}
		rows[0].Breakers = append(rows[0].Breakers, row)
	}
	return rows
}
