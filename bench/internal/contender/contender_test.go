package contender_test

import (
	"bufio"
	"context"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

func open(t *testing.T, c contender.Contender, o contender.Options) contender.Locks {
	t.Helper()
	l, err := c.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func acquire(t *testing.T, l contender.Locks, key string) contender.Lease {
	t.Helper()
	lease, err := l.Acquire(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// Each excludes a second holder until the first one's release, renews when it is
// told to, and tells of a loss.
func TestContenders(t *testing.T) {
	s := redistest.Start(t)
	const ttl = 600 * time.Millisecond
	for _, c := range contender.All() {
		t.Run(c.Name, func(t *testing.T) {
			s.Do(t, "FLUSHALL")
			l := open(t, c, contender.Options{Addr: s.Addr(), TTL: ttl, Renew: true})
			lease := acquire(t, l, "a")
			if n := s.Do(t, "DBSIZE"); n == int64(0) {
				t.Error("an acquire wrote nothing")
			}
			if c.Waits {
				lease = handOver(t, l, lease)
			}
			if renews := c.Name != "holdfast's scripts, bare"; renews {
				time.Sleep(2 * ttl)
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Errorf("release of a lease that was renewed: %v", err)
			}
			acquire(t, l, "a").Release(t.Context())
		})
	}
}

// handOver has another one wait for the lease's lock, and returns their lease.
func handOver(t *testing.T, l contender.Locks, lease contender.Lease) contender.Lease {
	t.Helper()
	next := make(chan contender.Lease)
	go func() {
		second, err := l.Acquire(context.Background(), "a")
		if err != nil {
			t.Error(err)
		}
		next <- second
	}()
	select {
	case <-next:
		t.Fatal("two had the lock at once")
	case <-time.After(100 * time.Millisecond):
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	return <-next
}

func TestALossIsTold(t *testing.T) {
	s := redistest.Start(t)
	const ttl = 10 * time.Second
	for _, c := range contender.All() {
		if c.Name == "rueidislock" || c.Name == "holdfast's scripts, bare" {
			continue // the first learns of it no sooner than its next renewal
		}
		t.Run(c.Name, func(t *testing.T) {
			lease := acquire(t, open(t, c, contender.Options{Addr: s.Addr(), TTL: ttl}), "a")
			s.Do(t, "FLUSHALL")
			if err := lease.Release(t.Context()); err == nil {
				t.Error("the release of a lock that was gone did not fail")
			}
		})
	}
}

// The commands that are counted are those that come from clients: none of them is
// called by a script as well, and none is missing.
func TestCommandsThatAreCounted(t *testing.T) {
	s := redistest.Start(t)
	for _, c := range contender.All() {
		t.Run(c.Name, func(t *testing.T) {
			l := open(t, c, contender.Options{Addr: s.Addr(), TTL: time.Minute})
			acquire(t, l, "warm").Release(t.Context())
			sent, called := monitor(t, s, func() {
				keys := []string{"a", "b"}
				if c.Waits {
					keys = []string{"a", "a", "a"}
				}
				var work sync.WaitGroup
				for _, key := range keys {
					work.Go(func() {
						for range 5 {
							lease, err := l.Acquire(context.Background(), key)
							if err != nil {
								t.Error(err)
								return
							}
							lease.Release(context.Background())
						}
					})
				}
				work.Wait()
			})
			counted := scenario.Counted(c)
			for _, name := range sent {
				if !slices.Contains(counted, name) {
					t.Errorf("%s is sent and not counted", name)
				}
			}
			for _, name := range called {
				if slices.Contains(counted, name) {
					t.Errorf("%s is counted and called by a script", name)
				}
			}
			if len(sent) == 0 || len(called) == 0 {
				t.Errorf("saw %q sent and %q called by scripts", sent, called)
			}
		})
	}
}

// A line of MONITOR: time, database, and who sent the command: an address or "lua".
var monitored = regexp.MustCompile(`^\+[\d.]+ \[\d+ (\S+)\] "(\w+)"`)

// monitor returns the names of the commands that reached the server during fn from
// clients and from scripts, without those that set up connections.
func monitor(t *testing.T, s *redistest.Server, fn func()) (sent, called []string) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	lines.Scan()
	fn()
	s.Do(t, "ECHO", "the-end")
	for lines.Scan() && !strings.Contains(lines.Text(), "the-end") {
		m := monitored.FindStringSubmatch(lines.Text())
		if m == nil {
			t.Errorf("line %q", lines.Text())
			continue
		}
		switch name := strings.ToLower(m[2]); {
		case m[1] == "lua":
			called = append(called, name)
		case name != "hello" && name != "client":
			sent = append(sent, name)
		}
	}
	slices.Sort(sent)
	slices.Sort(called)
	return slices.Compact(sent), slices.Compact(called)
}
