package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// server is the Redis of the example: a redis-server, or a simulated one.
type server struct {
	name string
	addr string

	path string
	dir  string
	cmd  *exec.Cmd
	sim  *miniredis.Miniredis
}

// startServer starts the redis-server at path, or a simulated Redis where that is empty.
func startServer(ctx context.Context, path string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{path: path, addr: l.Addr().String()}
	l.Close() // a free port, a moment ago
	if path == "" {
		s.name = "simulated, inside this process (there is no redis-server on PATH)"
		return s, s.start(ctx)
	}
	s.name = s.path + " at " + s.addr
	if s.dir, err = os.MkdirTemp("", "holdfast-degraded-"); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// start starts the server, without data, and returns when it answers.
func (s *server) start(ctx context.Context) error {
	if s.path == "" {
		s.sim = miniredis.NewMiniRedis()
		s.sim.ClockTTL(true)
		return s.sim.StartAddr(s.addr)
	}
	_, port, _ := net.SplitHostPort(s.addr)
	s.cmd = exec.Command(s.path, "--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no")
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return fmt.Errorf("start redis-server: %w", err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1, DialerRetries: 1})
	defer rdb.Close()
	for range 500 {
		if info, err := rdb.Info(ctx, "server").Result(); err == nil && strings.Contains(info, "process_id:"+strconv.Itoa(s.cmd.Process.Pid)+"\r") {
			return nil
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("redis-server does not answer at %s", s.addr)
}

// kill ends the server as kill -9 does.
func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
	if s.sim != nil {
		s.sim.Close()
		s.sim = nil
	}
}

func (s *server) close() {
	s.kill()
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}
