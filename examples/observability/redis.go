package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// server is the Redis of the example.
type server struct {
	addr, name string
	close      func()
}

// startRedis starts a redis-server if there is one, which keeps nothing, and else a
// simulated one.
func startRedis(ctx context.Context, dir string) (*server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		sim := miniredis.NewMiniRedis()
		sim.ClockTTL(true)
		if err := sim.StartAddr("127.0.0.1:0"); err != nil {
			return nil, err
		}
		return &server{sim.Addr(), "simulated, inside this process", sim.Close}, nil
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p, err := startProcess(exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir))
	if err != nil {
		return nil, err
	}
	s := &server{net.JoinHostPort("127.0.0.1", port), "redis-server on port " + port, func() { p.end(3 * time.Second) }}
	if err := answers(ctx, s.addr); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func answers(ctx context.Context, addr string) error {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for rdb.Ping(ctx).Err() != nil {
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("no answer from the Redis at %s", addr)
		}
	}
	return nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
