package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// The server's clock stands still, at modelInstant. What passes is the age of what it
// has, so that worlds which differ in the date alone are one. Tickets of the present
// begin at newTicket, and older ones are below; fences count from 1.
const (
	modelInstant = 1_700_000_000_000 // ms
	modelLock    = "{k}"
	newTicket    = 1000
)

type cmdKind uint8

const (
	cmdNone cmdKind = iota
	cmdAsk
	cmdPoll
	cmdExtend
	cmdRelease
)

type modelCmd struct {
	kind      cmdKind
	actor     uint8
	tombstone bool
	ticket    int16 // 0 for a new one
}

type modelReply struct {
	code   int8
	fence  uint16
	ticket int16
}

// told is a message.
type told struct {
	to    uint8
	fence uint16
}

// modelKey is a key of Redis; a string is its only field.
type modelKey struct {
	name, kind string
	ttl        int // ms
	fields     [][2]string
}

// modelServer runs the real scripts, and remembers what each did to which state. The
// states are numbered.
type modelServer struct {
	m          *miniredis.Miniredis
	rdb        *redis.Client
	c          *Client
	contenders []contender
	reqs       []Request
	waiters    []*waiter
	scripts    map[*script]*script // with the messages kept

	numbers map[string]int32
	states  [][]modelKey
	views   []modelView
	runs    map[modelRun]modelResult
	ages    map[modelAge]int32
}

type modelRun struct {
	db  int32
	cmd modelCmd
}

type modelResult struct {
	db    int32
	reply modelReply
	told  []told
	fault string
}

func newModelServer(t *testing.T, contenders []contender) *modelServer {
	sim := redistest.NewSim(t)
	sim.Miniredis().SetTime(time.UnixMilli(modelInstant))
	s := &modelServer{m: sim.Miniredis(), rdb: sim.Client(), contenders: contenders, scripts: make(map[*script]*script),
		numbers: make(map[string]int32), runs: make(map[modelRun]modelResult), ages: make(map[modelAge]int32)}
	c, err := New(s.rdb, WithIdentity("p"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	s.c, c.store.channel = c, "mailbox"
	c.waiters.running, c.waiters.subscription.stopped = true, true // the model polls, and delivers
	for _, original := range []*script{acquireScript, pollScript, extendScript, releaseScript} {
		const publish = "redis.pcall('PUBLISH', m[1], m[2])"
		if n := strings.Count(original.source, publish); n != 1 || strings.Count(original.source, "PUBLISH") != 1 {
			t.Fatalf("a script has %s %d times, want once, and no other PUBLISH: the model has to catch each message", publish, n)
		}
		source := strings.Replace(original.source, publish, "redis.call('RPUSH', m[1], m[2])", 1)
		s.scripts[original] = &script{source, redis.NewScript(source).Hash()}
	}
	for i, p := range contenders {
		call := &Call{client: c, locks: []string{modelLock}}
		w := &waiter{call: call, id: strconv.Itoa(i), lease: leaseID{call.locks, string(rune('A' + i))}, woken: make(chan struct{}, 1)}
		c.waiters.byID[w.id] = w
		s.waiters = append(s.waiters, w)
		s.reqs = append(s.reqs, Request{Key: "k", TTL: p.ttl, Mode: p.mode, Slots: p.slots, call: call})
	}
	s.number(nil)
	return s
}

// run executes cmd in the state db.
func (s *modelServer) run(db int32, cmd modelCmd) modelResult {
	key := modelRun{db, cmd}
	r, known := s.runs[key]
	if known {
		return r
	}
	s.restore(s.states[db])
	e := s.eval(cmd)
	e.script = s.scripts[e.script]
	v, err := e.run(context.Background(), s.rdb)
	if err == nil {
		r.reply, err = s.reply(cmd.kind, v)
	}
	r.db, r.told = s.dump()
	if r.fault = s.judge(s.views[db], s.views[r.db], cmd, r); err != nil {
		r.fault = err.Error()
	}
	s.runs[key] = r
	return r
}

// eval is cmd as the Client sends it.
func (s *modelServer) eval(cmd modelCmd) eval {
	st, w := &s.c.store, s.waiters[cmd.actor]
	st.seen.Store(0)
	switch cmd.kind {
	case cmdAsk:
		w.ticket = modelTicket(cmd.ticket)
		return st.acquireEval(w.lease, s.reqs[cmd.actor], "", w)
	case cmdPoll:
		w.lock, w.holder = modelLock, 0
		return s.c.waiters.pollEval([]*waiter{w})
	case cmdExtend:
		return st.extendEvals(w.lease, s.contenders[cmd.actor].extend)[0]
	}
	tombstone := time.Duration(0)
	if cmd.tombstone {
		tombstone = tombstoneLife
	}
	return st.releaseEvals(w.lease, 0, tombstone)[0]
}

// reply reads what a script said, as the Client does.
func (s *modelServer) reply(kind cmdKind, v any) (modelReply, error) {
	switch kind {
	case cmdAsk:
		r, err := s.c.store.acquired(v)
		code := int8(0)
		if r.granted {
			code = 1
		} else if r.withdrawn {
			code = -1
		}
		return modelReply{code, fenceNumber(r.fence), ticketNumber(r.ticket)}, err
	case cmdPoll:
		one := v.([]any)[0].([]any)
		r := modelReply{code: int8(one[0].(int64))}
		if r.code == 0 {
			fence, _ := strconv.ParseUint(one[3].(string), 10, 64)
			r.fence = fenceNumber(fence)
		}
		return r, nil
	}
	n, err := standingOf(v)
	return modelReply{code: int8(n)}, err
}

func (s *modelServer) restore(db []modelKey) {
	s.m.FlushAll()
	for _, k := range db {
		for _, f := range k.fields {
			switch k.kind {
			case "string":
				_ = s.m.Set(k.name, f[1])
			case "zset":
				score, _ := strconv.ParseFloat(f[1], 64)
				_, _ = s.m.ZAdd(k.name, score, f[0])
			case "hash":
				s.m.HSet(k.name, f[0], f[1])
			}
		}
		s.m.SetTTL(k.name, time.Duration(k.ttl)*time.Millisecond)
	}
}

// dump returns the state that Redis is in, and takes the messages out of it.
func (s *modelServer) dump() (int32, []told) {
	var db []modelKey
	var letters []told
	for _, name := range s.m.Keys() {
		k := modelKey{name: name, kind: s.m.Type(name), ttl: int(s.m.TTL(name) / time.Millisecond)}
		switch k.kind {
		case "string":
			text, _ := s.m.Get(name)
			k.fields = [][2]string{{"", text}}
		case "zset":
			scores, _ := s.m.SortedSet(name)
			for _, member := range slices.Sorted(maps.Keys(scores)) {
				k.fields = append(k.fields, [2]string{member, strconv.FormatFloat(scores[member], 'f', 0, 64)})
			}
		case "hash":
			names, _ := s.m.HKeys(name)
			for _, field := range slices.Sorted(slices.Values(names)) {
				k.fields = append(k.fields, [2]string{field, s.m.HGet(name, field)})
			}
		case "list":
			list, _ := s.m.List(name)
			for _, text := range list {
				var to uint8
				var fence uint64
				_, _ = fmt.Sscan(text, &to, &fence)
				letters = append(letters, told{to, fenceNumber(fence)})
			}
			continue
		}
		db = append(db, k)
	}
	return s.number(db), letters
}
