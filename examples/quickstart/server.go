package main

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// server is the Redis of the example.
type server struct {
	url   string
	name  string // for people
	rdb   *redis.Client
	close func()
}

// openServer reaches the Redis at url, or starts a simulated one inside this process
// where url is empty.
func openServer(ctx context.Context, url string) (*server, error) {
	s := &server{url: url, close: func() {}}
	if url == "" {
		sim := miniredis.NewMiniRedis()
		sim.ClockTTL(true)
		if err := sim.StartAddr("127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("start the simulated Redis: %w", err)
		}
		s.url, s.close = "redis://"+sim.Addr(), sim.Close
		s.name = "simulated, inside this process (REDIS_URL names a real one)"
	}
	if err := s.reach(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *server) reach(ctx context.Context) error {
	rdb, err := connect(s.url, "")
	if err != nil {
		return fmt.Errorf("REDIS_URL: %w", err)
	}
	addr := rdb.Options().Addr
	if err := rdb.Ping(ctx).Err(); err != nil {
		rdb.Close()
		return fmt.Errorf("no answer from the Redis at %s: %w", addr, err)
	}
	if s.name == "" {
		s.name = addr + ", as REDIS_URL says"
	}
	stop := s.close
	s.rdb, s.close = rdb, func() {
		rdb.Close()
		stop()
	}
	return nil
}

// connect makes a client of the Redis at url that goes through the proxy at via,
// or straight to it where via is empty. It retries nothing by itself: that is left
// to the pipeline, and this way an outage of two seconds is noticed at once.
func connect(url, via string) (*redis.Client, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	if via != "" {
		opts.Network, opts.Addr = "tcp", via
	}
	opts.MaxRetries = -1
	opts.DialerRetries = 1
	return redis.NewClient(opts), nil
}

// clean deletes the keys of this run.
func (s *server) clean(prefix string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	keys := s.rdb.Scan(ctx, 0, prefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := s.rdb.Del(ctx, keys.Val()).Err(); err != nil {
			return err
		}
	}
	return keys.Err()
}
