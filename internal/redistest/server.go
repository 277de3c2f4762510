package redistest

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// requireEnv is the environment variable that, set to 1, makes a missing
	// redis-server fail a test instead of skipping it.
	requireEnv = "HOLDFAST_REQUIRE_REDIS"
	// startTimeout bounds how long a server may take to answer PING. It is
	// generous: the machine may be busy.
	startTimeout = 20 * time.Second
	// startTries is how many ports Start tries before it gives up.
	startTries = 10
	pong       = "+PONG"
)

// Server is a redis-server process that belongs to one test.
type Server struct {
	tb   testing.TB
	path string // of the executable
	dir  string
	args []string
	port int

	mu     sync.Mutex
	proc   *process // the last one started, running or not
	frozen bool
}

// Start runs a redis-server on a free loopback port and returns once it answers
// PING. It keeps nothing on disk, unless args say otherwise, and works in a
// temporary directory; args ("--appendonly", "yes") follow the defaults and win.
// The test's Cleanup kills it and waits for its end.
//
// Where there is no redis-server on PATH the test is skipped, or fails if the
// environment has HOLDFAST_REQUIRE_REDIS=1.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return start(tb, freePort, args)
}

func start(tb testing.TB, port func(testing.TB) int, args []string) *Server {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv(requireEnv) == "1" {
			tb.Fatalf("redistest: %s=1, but there is no redis-server: %v", requireEnv, err)
		}
		tb.Skipf("redistest: no redis-server on PATH; install one to run this test, or set %s=1 to fail without", requireEnv)
	}
	s := &Server{tb: tb, path: path, dir: tb.TempDir(), args: args}
	tb.Cleanup(s.stop)
	for range startTries {
		s.port = port(tb)
		if err = s.launch(pong); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		tb.Fatalf("redistest: start redis-server: %v", err)
	}
	return s
}

// freePort returns a loopback port that was free a moment ago.
func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("redistest: find a free port: %v", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Addr returns the server's address, "127.0.0.1:port". It stays the same over
// Kill and Restart.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Client returns a go-redis client of the server with go-redis's default options,
// time-outs included, as changed by opts. The Cleanup of tb closes it.
func (s *Server) Client(tb testing.TB, opts ...func(*redis.Options)) *redis.Client {
	tb.Helper()
	return newClient(tb, &redis.Options{Addr: s.Addr()}, opts)
}

func newClient(tb testing.TB, o *redis.Options, opts []func(*redis.Options)) *redis.Client {
	for _, opt := range opts {
		opt(o)
	}
	rdb := redis.NewClient(o)
	tb.Cleanup(func() { rdb.Close() })
	return rdb
}

// Pid returns the process id of the server, 0 while it does not run.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.proc.running() {
		return 0
	}
	return s.proc.cmd.Process.Pid
}

// Freeze stops the process as SIGSTOP does: connections stay open, the kernel
// still accepts new ones and what they send, and nothing is answered until Thaw,
// when the server finds it all in its buffers. It returns when the process has
// stopped. Freezing a frozen server does nothing.
func (s *Server) Freeze() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		return
	}
	if !s.proc.running() {
		s.tb.Fatal("redistest: Freeze: the server is not running")
	}
	if err := freeze(s.proc.cmd.Process); err != nil {
		s.tb.Fatalf("redistest: Freeze: %v", err)
	}
	s.frozen = true
}

// Thaw lets a frozen server go on. Without Freeze it does nothing.
func (s *Server) Thaw() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.thawLocked()
}

func (s *Server) thawLocked() {
	if !s.frozen {
		return
	}
	if err := thaw(s.proc.cmd.Process); err != nil && s.proc.running() {
		s.tb.Errorf("redistest: Thaw: %v", err)
	}
	s.frozen = false
}

// Kill ends the process as SIGKILL does, and returns when it has ended: its
// connections are reset, new ones refused. Killing a server that does not run
// does nothing.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killLocked()
}

func (s *Server) killLocked() {
	s.thawLocked()
	s.proc.kill()
}

// Restart kills the server if it runs, and starts it again with the same port and
// arguments. It comes back empty, save for what it was told to keep on disk.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Kill()
	err := s.launch(pong)
	for deadline := time.Now().Add(startTimeout); errors.Is(err, errPortTaken) && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
		err = s.launch(pong)
	}
	if err != nil {
		s.tb.Fatalf("redistest: restart redis-server: %v", err)
	}
}

// stop ends the server for good, and shows the end of its log if the test failed.
func (s *Server) stop() {
	s.Kill()
	if s.tb.Failed() {
		s.tb.Logf("redistest: log of redis-server %s:\n%s", s.Addr(), s.logTail())
	}
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "redis-server.log") }

func (s *Server) logTail() []byte {
	const most = 4096
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		return []byte(err.Error())
	}
	return log[max(0, len(log)-most):]
}
