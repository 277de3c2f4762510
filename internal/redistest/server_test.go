package redistest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestServerBelongsToTheTest(t *testing.T) {
	var s *Server
	t.Run("a test", func(t *testing.T) {
		s = Start(t)
		if err := s.Client(t).Set(t.Context(), "k", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		config := s.Do(t, "CONFIG", "GET", "save").([]any)
		if config[1] != "" {
			t.Errorf("save = %q, want none", config[1])
		}
		if dir := s.Do(t, "CONFIG", "GET", "dir").([]any)[1]; dir != s.dir {
			t.Errorf("dir = %q, want %q", dir, s.dir)
		}
		if s.Pid() == 0 {
			t.Error("Pid() = 0 while it runs")
		}
	})
	if s == nil {
		t.Skip("no redis-server")
	}
	if s.Pid() != 0 {
		t.Errorf("process %d runs after its test", s.Pid())
	}
	if c, err := net.Dial("tcp", s.Addr()); err == nil {
		c.Close()
		t.Error("its port is open after its test")
	}
}

func TestStartTakesAnotherPort(t *testing.T) {
	other := Start(t) // answers PING, but is not the server that is started
	ports := []int{other.port, freePort(t)}
	s := start(t, func(testing.TB) int {
		next := ports[0]
		ports = ports[1:]
		return next
	}, nil)
	if s.Addr() == other.Addr() || s.Pid() == other.Pid() {
		t.Errorf("started at %s as %d, the place of another server", s.Addr(), s.Pid())
	}
	if len(ports) != 0 {
		t.Error("the port that was taken was not tried")
	}
}

func TestStartWithoutServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, tc := range []struct {
		require            string
		wantSkip, wantFail bool
	}{
		{require: "", wantSkip: true},
		{require: "1", wantFail: true},
	} {
		t.Setenv(requireEnv, tc.require)
		r := record(t, func(tb testing.TB) { Start(tb) })
		if skipped := strings.Contains(r.skips, "no redis-server on PATH"); skipped != tc.wantSkip {
			t.Errorf("%s=%q: skipped %q", requireEnv, tc.require, r.skips)
		}
		if failed := strings.Contains(r.fatals, "no redis-server"); failed != tc.wantFail {
			t.Errorf("%s=%q: failed %q", requireEnv, tc.require, r.fatals)
		}
	}
}

func TestStartShowsTheLogOfABadStart(t *testing.T) {
	Start(t) // or skip
	r := record(t, func(tb testing.TB) { Start(tb, "--no-such-option", "1") })
	if !strings.Contains(r.fatals, "no-such-option") {
		t.Errorf("Start failed with %q, want the server's own words", r.fatals)
	}
}

func TestFreezeAndThaw(t *testing.T) {
	s := Start(t)
	rdb := s.Client(t, once)
	s.Freeze()
	s.Freeze()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatalf("a frozen server's port is closed: %v", err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("SET late 1\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := rdb.Ping(soon(t)).Err(); err == nil {
		t.Error("a frozen server answered")
	}
	s.Thaw()
	s.Thaw()
	r := newReader(c)
	if err := r.value(); err != nil || string(r.taken()) != "+OK\r\n" {
		t.Errorf("what was sent while it was frozen was not run: %v", err)
	}
	if err := rdb.Ping(t.Context()).Err(); err != nil {
		t.Errorf("after Thaw: %v", err)
	}
	s.Freeze()
	if err := rdb.Ping(soon(t)).Err(); err == nil {
		t.Error("a server frozen again answered")
	}
	s.Kill() // a frozen one too
	if r := record(t, func(testing.TB) { s.Thaw() }); r.errors != "" {
		t.Error(r.errors)
	}
}

func TestKillAndRestart(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"in memory", nil, ""},
		{"on disk", []string{"--appendonly", "yes", "--appendfsync", "always"}, "v"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Start(t, tc.args...)
			s.Do(t, "SET", "k", "v")
			addr, pid := s.Addr(), s.Pid()
			s.Kill()
			s.Kill()
			if s.Pid() != 0 {
				t.Errorf("Pid() = %d after Kill", s.Pid())
			}
			if c, err := net.Dial("tcp", addr); err == nil {
				c.Close()
				t.Error("its port is open after Kill")
			}
			s.Restart()
			if s.Addr() != addr || s.Pid() == pid || s.Pid() == 0 {
				t.Errorf("restarted at %s as %d, was at %s as %d", s.Addr(), s.Pid(), addr, pid)
			}
			s.Restart() // a running one
			if v, _ := s.Do(t, "GET", "k").(string); v != tc.want {
				t.Errorf("GET after Restart = %q, want %q", v, tc.want)
			}
		})
	}
}

func TestRestartLoading(t *testing.T) {
	s := Start(t)
	s.Do(t, "SET", "k", "v")
	s.RestartLoading(t, time.Minute)
	rdb := s.Client(t, once)
	if err := rdb.Eval(t.Context(), "return 1", nil).Err(); !redis.HasErrorPrefix(err, "LOADING") {
		t.Errorf("EVAL while it loads: %v, want LOADING", err)
	}
	s.Do(t, "CONFIG", "SET", "key-load-delay", 0)
	eventually(t, "the end of loading", func() bool { return rdb.Ping(t.Context()).Err() == nil })
	if n := s.Do(t, "DBSIZE"); n == int64(0) {
		t.Error("it had nothing to load")
	}
	s.Restart()
	if n := s.Do(t, "DBSIZE"); n != int64(0) {
		t.Errorf("%d keys after Restart, want none", n)
	}
}

func TestDoFailsTheTest(t *testing.T) {
	s := Start(t)
	r := record(t, func(tb testing.TB) { s.Do(tb, "NOSUCH", 1) })
	if !strings.Contains(r.fatals, "NOSUCH") {
		t.Errorf("Do of an unknown command reported %q", r.fatals)
	}
}

func TestServerCommands(t *testing.T) {
	s := Start(t)
	s.Do(t, "CONFIG", "RESETSTAT")
	s.Do(t, "EVAL", "redis.call('SET', KEYS[1], 1) return redis.call('INCR', KEYS[1])", 1, "k")
	calls := s.Commands(t)
	for name, want := range map[string]int64{"eval": 1, "set": 1, "incr": 1, "client|setinfo": 0} {
		if calls[name] != want {
			t.Errorf("%s ran %d times, want %d", name, calls[name], want)
		}
	}
}

// A test binary that dies before its Cleanup leaves no server behind.
func TestServerDiesWithTheTestBinary(t *testing.T) {
	const env = "REDISTEST_ORPHAN"
	if os.Getenv(env) != "" {
		os.Stdout.WriteString("pid=" + strconv.Itoa(Start(t).Pid()) + "\n")
		os.Exit(1)
	}
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("needs /proc")
	}
	Start(t) // or skip
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), env+"=1")
	out, _ := cmd.CombinedOutput()
	_, pid, ok := strings.Cut(string(out), "pid=")
	pid, _, _ = strings.Cut(pid, "\n")
	if !ok {
		t.Fatalf("no server was started: %s", out)
	}
	eventually(t, "the end of process "+pid, func() bool { return !running(pid) })
}

// running tells whether the process lives; a zombie does not.
func running(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
