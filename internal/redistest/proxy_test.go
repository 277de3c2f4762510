package redistest

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// onProxies runs fn on a Proxy before a real server and on one before a simulated
// one, outside of a bubble and inside.
func onProxies(t *testing.T, fn func(t *testing.T, p *Proxy)) {
	t.Run("real", func(t *testing.T) { fn(t, NewProxy(t, Start(t).Addr())) })
	t.Run("sim", func(t *testing.T) { fn(t, NewSim(t).Proxy()) })
	t.Run("synctest", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { fn(t, NewSim(t).Proxy()) })
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestProxyPassesBytesAsTheyAre(t *testing.T) {
	onProxies(t, func(t *testing.T, p *Proxy) {
		for _, protocol := range []int{2, 3} {
			rdb := p.Client(t, func(o *redis.Options) { o.Protocol = protocol })
			for _, v := range []string{"", "\r\n", "$3\r\n*1\r\n", "\x00\xff", strings.Repeat("0123456789", 1<<14)} {
				check(t, rdb.Set(t.Context(), "k", v, 0).Err())
				if got, err := rdb.Get(t.Context(), "k").Result(); err != nil || got != v {
					t.Errorf("RESP%d: wrote %d bytes %.20q, read %d bytes %.20q, %v", protocol, len(v), v, len(got), got, err)
				}
			}
			if err := rdb.Get(t.Context(), "none").Err(); !errors.Is(err, redis.Nil) {
				t.Errorf("RESP%d: GET of no key: %v", protocol, err)
			}
			check(t, rdb.HSet(t.Context(), "h", "a", "1", "b", "2").Err())
			if h, err := rdb.HGetAll(t.Context(), "h").Result(); err != nil || !maps.Equal(h, map[string]string{"a": "1", "b": "2"}) {
				t.Errorf("RESP%d: HGETALL = %v, %v", protocol, h, err)
			}
		}
	})
}

func TestProxyPassesSubscriptions(t *testing.T) {
	onProxies(t, func(t *testing.T, p *Proxy) {
		for _, protocol := range []int{2, 3} {
			rdb := p.Client(t, func(o *redis.Options) { o.Protocol = protocol })
			p.ResetStats()
			sub := rdb.Subscribe(t.Context(), "c", "d")
			for range 2 {
				if _, err := sub.Receive(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			check(t, sub.Ping(t.Context())) // shares its connection with messages
			check(t, rdb.Publish(t.Context(), "d", "hello").Err())
			for got := ""; got == ""; {
				m, err := sub.Receive(t.Context())
				check(t, err)
				if m, ok := m.(*redis.Message); ok {
					got = m.Payload
				}
			}
			check(t, sub.Close())
			p.Await(t, "the reply to PING", func(s Stats) bool { return s.Replies["PING"] == 1 })
			if s := p.Stats(); s.Commands["SUBSCRIBE"] != 1 || s.Commands["PUBLISH"] != 1 || s.Replies["PUBLISH"] != 1 || s.Replies["SUBSCRIBE"] != 0 {
				t.Errorf("RESP%d: counted %+v", protocol, s)
			}
		}
	})
}

// A message that comes while a command waits is not taken for its reply.
func TestProxyTellsMessagesFromReplies(t *testing.T) {
	for name, tc := range map[string]struct{ commands, message, reply string }{
		"RESP2": {"SUBSCRIBE c\r\nPING\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", "*2\r\n$4\r\npong\r\n$0\r\n\r\n"},
		"RESP3": {"PING\r\n", ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n", "+PONG\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				upstream, server := net.Pipe()
				p := newProxy(t, func() (net.Conn, error) { return upstream, nil })
				client, downstream := net.Pipe()
				p.serve(downstream)
				p.DropReplies(1, Named("PING"))
				go client.Write([]byte(tc.commands))
				if _, err := io.ReadFull(server, make([]byte, len(tc.commands))); err != nil {
					t.Fatal(err)
				}
				go server.Write([]byte(tc.message + tc.reply))
				got, err := io.ReadAll(client)
				if string(got) != tc.message || err != nil {
					t.Errorf("with the reply dropped read %q, %v, want %q", got, err, tc.message)
				}
				server.Close()
			})
		})
	}
}

func TestProxyCountsCommandsAndRoundTrips(t *testing.T) {
	onProxies(t, func(t *testing.T, p *Proxy) {
		rdb := p.Client(t, once)
		check(t, rdb.Set(t.Context(), "k", 1, 0).Err())
		check(t, rdb.Get(t.Context(), "k").Err())
		_, err := rdb.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for range 100 {
				pipe.Get(t.Context(), "k")
			}
			return nil
		})
		check(t, err)
		s := p.Stats()
		if want := map[string]int{"SET": 1, "GET": 101}; !maps.Equal(s.Commands, want) || !maps.Equal(s.Replies, want) || s.Total() != 102 {
			t.Errorf("counted %v and replies %v, want %v", s.Commands, s.Replies, want)
		}
		if s.RoundTrips != 3 {
			t.Errorf("%d round trips, want 3: SET, GET, the pipeline", s.RoundTrips)
		}
		if s.Handshake["HELLO"] != 2 || s.Handshake["CLIENT"] == 0 {
			t.Errorf("handshake = %v, want HELLO and CLIENT SETINFO for commands and for pipelines", s.Handshake)
		}
		cmds := p.Commands()
		if len(cmds) != 102 || cmds[0].Name != "SET" || cmds[0].Args[0] != "k" || cmds[0].Args[1] != "1" || cmds[101].Name != "GET" {
			t.Errorf("recorded %v", cmds)
		}
		p.ResetStats()
		check(t, rdb.Eval(t.Context(), "return 1", nil).Err())
		if s := p.Stats(); s.Total() != 1 || s.RoundTrips != 1 || len(s.Handshake) != 0 || len(p.Commands()) != 1 {
			t.Errorf("after ResetStats and one EVAL counted %+v", s)
		}
	})
}

func TestProxyCutAndHeal(t *testing.T) {
	onProxies(t, func(t *testing.T, p *Proxy) {
		rdb := p.Client(t, once)
		check(t, rdb.Set(t.Context(), "a", 1, 0).Err())
		p.Cut()
		p.Cut()
		p.ResetStats()
		if err := rdb.Set(soon(t), "a", 2, 0).Err(); !isTimeout(err) {
			t.Errorf("SET on a connection that was cut: %v, want a time-out", err)
		}
		fresh := p.Client(t, once)
		if err := fresh.Set(soon(t), "b", 1, 0).Err(); !isTimeout(err) {
			t.Errorf("SET on a new connection: %v, want a time-out", err)
		}
		if s := p.Stats(); s.Total() != 0 || len(s.Handshake) != 0 {
			t.Errorf("got through the cut: %+v", s)
		}
		p.Heal()
		p.Await(t, "the late SET", func(s Stats) bool { return s.Replies["SET"] == 1 })
		if v, err := rdb.Get(t.Context(), "a").Result(); v != "2" {
			t.Errorf("after Heal a = %q, %v, want what was sent before its sender gave up", v, err)
		}
		check(t, fresh.Set(t.Context(), "b", 1, 0).Err())
	})
}

func TestProxyCutHoldsRepliesUnderWay(t *testing.T) {
	onProxies(t, func(t *testing.T, p *Proxy) {
		rdb := p.Client(t)
		check(t, rdb.Ping(t.Context()).Err())
		p.HoldReplies()
		got := make(chan error, 1)
		go func() { got <- rdb.Incr(context.Background(), "n").Err() }()
		p.Await(t, "the INCR", func(s Stats) bool { return s.Replies["INCR"] == 1 })
		p.Cut()
		p.ReleaseReplies()
		select {
		case err := <-got:
			t.Fatalf("a reply came through the cut: %v", err)
		case <-time.After(53 * time.Millisecond):
		}
		p.Heal()
		check(t, <-got)
	})
}

func TestProxyHoldsChosenReplies(t *testing.T) {
	onProxies(t, func(t *testing.T, p *Proxy) {
		rdb := p.Client(t)
		p.HoldReplies(Named("incr"))
		got := make(chan int64, 1)
		go func() {
			n, err := rdb.Incr(context.Background(), "n").Result()
			if err != nil {
				t.Error(err)
			}
			got <- n
		}()
		p.Await(t, "the INCR", func(s Stats) bool { return s.Replies["INCR"] == 1 })
		if v, err := rdb.Get(t.Context(), "n").Result(); v != "1" {
			t.Errorf("GET beside a held reply = %q, %v, want 1", v, err)
		}
		if len(got) != 0 {
			t.Error("the reply was not held")
		}
		p.ReleaseReplies()
		if n := <-got; n != 1 {
			t.Errorf("the held reply says %d, want 1", n)
		}
	})
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}
