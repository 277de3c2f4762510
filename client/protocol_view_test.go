package client

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// modelView is what a state of Redis says.
type modelView struct {
	fence uint16 // the last one
	held  []modelHeld
	queue []modelPlace // in order
	clean bool         // nothing is left but the fence, and tombstones
	fault string
}

type modelHeld struct {
	actor uint8
	fence uint16
	left  int // ms
}

type modelPlace struct {
	actor  uint8
	ticket int16
	beat   int // ms until it is taken for dead
}

func (v modelView) holder(actor uint8) (modelHeld, bool) {
	for _, h := range v.held {
		if h.actor == actor {
			return h, true
		}
	}
	return modelHeld{}, false
}

func (v modelView) place(actor uint8) (modelPlace, bool) {
	for _, p := range v.queue {
		if p.actor == actor {
			return p, true
		}
	}
	return modelPlace{}, false
}

// number returns the number of a state, and reads one that is new.
func (s *modelServer) number(db []modelKey) int32 {
	text := fmt.Sprint(db)
	n, known := s.numbers[text]
	if !known {
		n = int32(len(s.states))
		s.numbers[text] = n
		s.states, s.views = append(s.states, db), append(s.views, look(db))
	}
	return n
}

// look reads a state, and finds faults in it that need no history.
func look(db []modelKey) modelView {
	v := modelView{clean: true}
	fields := make(map[string]map[string]string)
	ttl := 0
	for _, k := range db {
		suffix := strings.TrimPrefix(k.name, modelLock)
		fields[suffix] = make(map[string]string)
		for _, f := range k.fields {
			fields[suffix][f[0]] = f[1]
		}
		if k.ttl <= 0 {
			v.fault = "there is a key without a TTL: " + k.name
		}
		if suffix == "" {
			ttl = k.ttl
		}
		v.clean = v.clean && (suffix == ":fence" || strings.HasPrefix(suffix, ":withdrawn:"))
	}
	fence, _ := strconv.ParseUint(fields[":fence"][""], 10, 64)
	v.fence = fenceNumber(fence)
	actor := func(token string) uint8 { return token[0] - 'A' }
	if rec, ok := parseRecord(fields[""][""]); ok && rec.mode == Exclusive {
		v.held = []modelHeld{{actor(rec.token), fenceNumber(rec.fence), ttl}}
	} else if ok {
		for token, expiry := range fields[":members"] {
			at, _ := strconv.Atoi(expiry)
			own, _ := parseRecord(fields[":info"][token])
			if at > modelInstant {
				v.held = append(v.held, modelHeld{actor(token), fenceNumber(own.fence), at - modelInstant})
			}
		}
	}
	for token, ticket := range fields[":queue"] {
		beat, _, _ := strings.Cut(fields[":waiters"][token], " ")
		at, err := strconv.Atoi(beat)
		if err != nil {
			v.fault = "there is a place in the queue without an entry"
		}
		if _, holds := v.holder(actor(token)); holds {
			v.fault = "one who holds the lock waits for it"
		}
		v.queue = append(v.queue, modelPlace{actor(token), ticketNumber(ticket), at - modelInstant})
	}
	slices.SortFunc(v.queue, func(a, b modelPlace) int {
		return cmp.Or(cmp.Compare(a.ticket, b.ticket), cmp.Compare(a.actor, b.actor))
	})
	if len(fields[":waiters"]) != len(v.queue) {
		v.fault = "there is an entry without a place in the queue"
	}
	return v
}

type modelAge struct {
	db      int32
	tickets [actors]int16
}

// age returns the state db once time has passed, with other numbers for the tickets of
// those who wait. Long TTLs do not pass.
func (s *modelServer) age(db int32, step time.Duration, tickets [actors]int16) int32 {
	key := modelAge{db, tickets}
	if n, known := s.ages[key]; known {
		return n
	}
	passed := int(step / time.Millisecond)
	earlier := func(text string) string {
		at, _ := strconv.Atoi(text)
		return strconv.Itoa(max(at-passed, modelInstant))
	}
	var aged []modelKey
	for _, k := range s.states[db] {
		if k.ttl < int(tombstoneLife/time.Millisecond) {
			k.ttl -= passed
		}
		if k.ttl <= 0 {
			continue
		}
		k.fields = slices.Clone(k.fields)
		for i, f := range k.fields {
			switch strings.TrimPrefix(k.name, modelLock) {
			case ":members":
				k.fields[i][1] = earlier(f[1])
			case ":queue":
				k.fields[i][1] = modelTicket(tickets[f[0][0]-'A'])
			case ":waiters":
				beat, rest, _ := strings.Cut(f[1], " ")
				k.fields[i][1] = earlier(beat) + " " + rest
			}
		}
		aged = append(aged, k)
	}
	s.ages[key] = s.number(aged)
	return s.ages[key]
}

// renaming returns new numbers for the tickets of a world: below those of this
// instant, in the same order.
func (m *model) renaming(w *modelWorld) func(int16) int16 {
	var all []int16
	for _, p := range m.views[w.db].queue {
		all = append(all, p.ticket)
	}
	for i := range w.actors {
		a := &w.actors[i]
		all = append(all, a.ticket, a.call.ticket, a.call.reply.ticket, a.stray.ticket)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return func(t int16) int16 {
		if t == 0 {
			return 0
		}
		i, _ := slices.BinarySearch(all, t)
		return newTicket - int16(len(all)-i)
	}
}

func modelFence(n uint16) uint64 {
	if n == 0 {
		return 0
	}
	return 1000*modelInstant + uint64(n) - 1
}

func fenceNumber(fence uint64) uint16 {
	if fence == 0 {
		return 0
	}
	return uint16(fence - 1000*modelInstant + 1)
}

func modelTicket(n int16) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(1000*modelInstant + int(n) - newTicket)
}

func ticketNumber(ticket string) int16 {
	n, _ := strconv.Atoi(ticket)
	if n == 0 {
		return 0
	}
	return int16(n - 1000*modelInstant + newTicket)
}
