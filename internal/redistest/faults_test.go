package redistest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

const incr = "return redis.call('INCR', KEYS[1])"

func count(t *testing.T, rdb *redis.Client, key string) int {
	t.Helper()
	n, err := rdb.Get(t.Context(), key).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return n
}

func TestProxyDropsTheReplyAlone(t *testing.T) {
	onProxies(t, func(t *testing.T, p *Proxy) {
		rdb := p.Client(t, once)
		p.DropReplies(2)
		for i := range 2 {
			if err := rdb.Eval(t.Context(), incr, []string{"n"}).Err(); !gone(err) {
				t.Errorf("EVAL %d with its reply dropped: %v, want a closed connection", i, err)
			}
			if n := count(t, rdb, "n"); n != i+1 {
				t.Errorf("the script ran %d times, want %d", n, i+1)
			}
		}
		check(t, rdb.Eval(t.Context(), incr, []string{"n"}).Err())
		if d := p.Stats().Dropped; d != 2 {
			t.Errorf("Dropped = %d, want 2", d)
		}
	})
}

func TestProxyDropsTheReplySilently(t *testing.T) {
	onProxies(t, func(t *testing.T, p *Proxy) {
		rdb := p.Client(t, once)
		p.DropRepliesSilently(1)
		if err := rdb.Eval(soon(t), incr, []string{"n"}).Err(); !isTimeout(err) {
			t.Errorf("EVAL with its reply dropped: %v, want a time-out", err)
		}
		if n := count(t, rdb, "n"); n != 1 {
			t.Errorf("the script ran %d times, want 1", n)
		}
		// What follows on the connection would be taken for the lost reply.
		p.DropRepliesSilently(1)
		_, err := rdb.Pipelined(soon(t), func(pipe redis.Pipeliner) error {
			pipe.Eval(t.Context(), incr, []string{"n"})
			pipe.Get(t.Context(), "n")
			return nil
		})
		if !isTimeout(err) {
			t.Errorf("pipeline with its first reply dropped: %v, want a time-out", err)
		}
	})
}

func TestProxyDropsTheRestOfThePipeline(t *testing.T) {
	onProxies(t, func(t *testing.T, p *Proxy) {
		c := dial(t, p)
		p.DropReplies(1, Command.Script, func(c Command) bool { return c.Args[2] == "b" })
		var batch []byte
		for _, key := range []string{"a", "b", "c"} {
			batch = fmt.Appendf(batch, "*4\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n1\r\n$1\r\n%s\r\n", len(incr), incr, key)
		}
		if _, err := c.Write(batch); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(c)
		if string(got) != ":1\r\n" || err != nil {
			t.Errorf("read %q, %v, want the first reply and EOF", got, err)
		}
		p.Await(t, "all three scripts", func(s Stats) bool { return s.Replies["EVAL"] == 3 })
		rdb := p.Client(t)
		for _, key := range []string{"a", "b", "c"} {
			if n := count(t, rdb, key); n != 1 {
				t.Errorf("the script ran %d times on %s, want 1", n, key)
			}
		}
	})
}

func TestProxyDropsNoOtherReply(t *testing.T) {
	onProxies(t, func(t *testing.T, p *Proxy) {
		rdb := p.Client(t, once)
		p.DropReplies(1)
		check(t, rdb.Incr(t.Context(), "n").Err())
		sha := redis.NewScript(incr).Hash()
		if err := rdb.EvalSha(t.Context(), sha, []string{"n"}).Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
			t.Errorf("EVALSHA of an unknown script: %v, want NOSCRIPT", err)
		}
		if err := rdb.Eval(t.Context(), incr, []string{"n"}).Err(); !gone(err) {
			t.Errorf("the script's run: %v, want a closed connection", err)
		}
	})
}

func TestProxyRefuseAndReset(t *testing.T) {
	onProxies(t, func(t *testing.T, p *Proxy) {
		rdb := p.Client(t, once)
		check(t, rdb.Ping(t.Context()).Err())
		p.Refuse(true)
		check(t, rdb.Ping(t.Context()).Err()) // on the connection it has
		p.Reset()
		for range 2 { // at most the first finds the connection that was reset
			if err := rdb.Ping(t.Context()).Err(); !gone(err) {
				t.Errorf("refused: %v, want a closed connection", err)
			}
		}
		p.Refuse(false)
		check(t, rdb.Ping(t.Context()).Err())
	})
}

func TestProxyResetThrowsAwayWhatWasCut(t *testing.T) {
	onProxies(t, func(t *testing.T, p *Proxy) {
		rdb := p.Client(t, once)
		check(t, rdb.Ping(t.Context()).Err())
		p.Cut()
		if err := rdb.Incr(soon(t), "n").Err(); !isTimeout(err) {
			t.Errorf("cut: %v", err)
		}
		p.Reset()
		p.Heal()
		if n := count(t, rdb, "n"); n != 0 {
			t.Errorf("what Reset threw away ran %d times", n)
		}
	})
}

// A request that reached the server runs though its client has gone.
func TestProxyForwardsForThoseWhoHaveGone(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	rdb := p.Client(t, once)
	check(t, rdb.Ping(t.Context()).Err())
	s.Freeze()
	if err := rdb.Incr(soon(t), "n").Err(); !isTimeout(err) {
		t.Errorf("frozen: %v", err)
	}
	p.Await(t, "INCR on its way", func(st Stats) bool { return st.Commands["INCR"] == 1 })
	s.Thaw()
	p.Await(t, "INCR", func(st Stats) bool { return st.Replies["INCR"] == 1 })
}

func TestProxyBeforeADeadServer(t *testing.T) {
	s := Start(t)
	p := NewProxy(t, s.Addr())
	rdb := p.Client(t, once)
	check(t, rdb.Ping(t.Context()).Err())
	s.Kill()
	for range 2 {
		if err := rdb.Ping(t.Context()).Err(); !gone(err) {
			t.Errorf("server killed: %v, want a closed connection", err)
		}
	}
	s.Restart()
	check(t, rdb.Ping(t.Context()).Err())
}

func TestProxyDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewSim(t).Proxy()
		rdb := p.Client(t, once)
		check(t, rdb.Ping(t.Context()).Err())
		check(t, ping(rdb, 1))
		p.Delay(70 * time.Millisecond)
		for _, tc := range []struct {
			name string
			n    int
		}{{"one command", 1}, {"a pipeline", 2000}} {
			start := time.Now()
			check(t, ping(rdb, tc.n))
			if took := time.Since(start); took != 140*time.Millisecond {
				t.Errorf("%s took %v, want 140ms", tc.name, took)
			}
		}
		p.Delay(0)
		start := time.Now()
		check(t, ping(rdb, 1))
		if took := time.Since(start); took != 0 {
			t.Errorf("without delay a command took %v", took)
		}
	})
}

func TestProxyReportsWhatIsNotRESP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		client, server := net.Pipe()
		p := newProxy(r, func() (net.Conn, error) { return nil, io.EOF })
		p.Cut()
		p.serve(server)
		client.Write([]byte("*1\r\n:5\r\n"))
		client.Close()
		synctest.Wait()
		if !strings.Contains(r.errors, "not RESP") {
			t.Errorf("a command that is none was reported as %q", r.errors)
		}
	})
}

func TestAwaitFailsTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewSim(t).Proxy()
		r := record(t, func(tb testing.TB) {
			p.Await(tb, "the impossible", func(Stats) bool { return false })
		})
		if r.fatals == "" {
			t.Error("Await returned")
		}
	})
}

// ping sends n PINGs as a pipeline.
func ping(rdb *redis.Client, n int) error {
	_, err := rdb.Pipelined(context.Background(), func(pipe redis.Pipeliner) error {
		for range n {
			pipe.Ping(context.Background())
		}
		return nil
	})
	return err
}

// dial connects to a Proxy without a redis client.
func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	connect := p.dialer
	if connect == nil {
		connect = new(net.Dialer).DialContext
	}
	c, err := connect(t.Context(), "tcp", p.Addr())
	check(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// gone tells whether err is that of a connection which the other side closed.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
