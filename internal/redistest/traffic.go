package redistest

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// Command is a command that a client sent.
type Command struct {
	Name string   // in upper case: "EVALSHA"
	Args []string // what follows the name
}

// Script tells whether the command runs a script: EVALSHA, EVAL and their
// read-only forms.
func (c Command) Script() bool {
	switch c.Name {
	case "EVALSHA", "EVAL", "EVALSHA_RO", "EVAL_RO":
		return true
	}
	return false
}

// Handshake tells whether the command sets up a connection: HELLO, AUTH, CLIENT,
// SELECT, READONLY.
func (c Command) Handshake() bool {
	switch c.Name {
	case "HELLO", "AUTH", "CLIENT", "SELECT", "READONLY":
		return true
	}
	return false
}

// subscription tells whether the command is answered by messages instead of one
// reply.
func (c Command) subscription() bool {
	switch c.Name {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE":
		return true
	}
	return false
}

// Stats counts what went through a Proxy since it was made, or since ResetStats.
// A command counts when it goes on to the server, a reply when the server gave it,
// whether or not it was delivered.
type Stats struct {
	Commands  map[string]int // by name, without the handshake
	Replies   map[string]int // by the name of their command, without the handshake
	Handshake map[string]int // commands that set up connections, by name

	// RoundTrips counts the batches of commands that were sent without waiting for
	// a reply in between, without the handshake. A batch that its client writes in
	// several pieces (go-redis: above 32 KiB) may count as several.
	RoundTrips int
	Dropped    int // replies lost by DropReplies and DropRepliesSilently
}

// Total returns the number of commands, without the handshake.
func (s Stats) Total() (n int) {
	for _, calls := range s.Commands {
		n += calls
	}
	return n
}

// traffic is the record behind Stats.
type traffic struct {
	stats    Stats
	commands []Command
}

func (t *traffic) reset() {
	*t = traffic{stats: Stats{
		Commands: make(map[string]int), Replies: make(map[string]int), Handshake: make(map[string]int),
	}}
}

// Stats returns the counts of this moment.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.traffic.stats
	s.Commands, s.Replies, s.Handshake = maps.Clone(s.Commands), maps.Clone(s.Replies), maps.Clone(s.Handshake)
	return s
}

// ResetStats starts the counts and the list of Commands anew.
func (p *Proxy) ResetStats() { p.change(p.traffic.reset) }

// Commands returns the commands that went on to the server, in that order, without
// the handshake.
func (p *Proxy) Commands() []Command {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.traffic.commands)
}

// Await returns when the counts satisfy met, and fails the test, saying what was
// awaited, when that takes more than 20 s.
func (p *Proxy) Await(tb testing.TB, what string, met func(Stats) bool) {
	tb.Helper()
	late := make(chan struct{})
	timer := time.AfterFunc(20*time.Second, func() { close(late) })
	defer timer.Stop()
	if !p.wait(late, func() bool { return met(p.Stats()) }) {
		tb.Fatalf("redistest: %s did not happen: %+v", what, p.Stats())
	}
}

func newCommand(words []string) Command {
	if len(words) == 0 {
		return Command{}
	}
	return Command{Name: strings.ToUpper(words[0]), Args: words[1:]}
}

func (t *traffic) sent(c Command, trip bool) {
	if c.Handshake() {
		t.stats.Handshake[c.Name]++
		return
	}
	t.stats.Commands[c.Name]++
	t.commands = append(t.commands, c)
	if trip {
		t.stats.RoundTrips++
	}
}

func (t *traffic) answered(c Command) {
	if !c.Handshake() {
		t.stats.Replies[c.Name]++
	}
}
