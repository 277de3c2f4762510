// Command degraded shows what a class of locks does that may go on while Redis is
// gone. Sixteen workers want eight locks, one of them for long; Redis is killed under
// them and started again, without its data, twice. Each line of the timeline is a
// quarter of a second:
//
//	█ locks taken in Redis   ▒ degraded ones   · calls that failed
//
// Between the kill and the first degraded lease lies the quarantine: until it is over
// another process may still hold what Redis granted. When Redis is back the leases
// that live are promoted, and where a neighbour was faster there is a conflict. At no
// time are two workers of this process inside of one lock; else it fails.
//
//	go run ./examples/degraded
//
// starts a redis-server of its own where there is one on PATH, and else a simulated
// Redis inside this process. It takes some 15 seconds.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	logging.Disable() // go-redis reports each connection that it loses
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	path, _ := exec.LookPath("redis-server")
	if err := run(ctx, os.Stdout, path, plan{calm: 2250 * time.Millisecond, outage: 3500 * time.Millisecond, outages: 2}); err != nil {
		fmt.Fprintln(os.Stderr, "\ndegraded:", err)
		os.Exit(1)
	}
}

// plan is how long Redis is there and gone, in turns.
type plan struct {
	calm, outage time.Duration
	outages      int
}

// run plays the plan and fails where something was not as it should be.
func run(ctx context.Context, out io.Writer, path string, p plan) error {
	srv, err := startServer(ctx, path)
	if err != nil {
		return err
	}
	defer srv.close()
	fmt.Fprintf(out, "Redis: %s\n\n", srv.name)
	t := &timeline{out: out, redis: "up", began: time.Now()}
	crew, err := hire(ctx, srv.addr, t)
	if err != nil {
		return err
	}
	done := t.draw()
	err = play(ctx, srv, t, p)
	crew.dismiss()
	done()
	if err != nil {
		return err
	}
	return t.verdict()
}

func play(ctx context.Context, srv *server, t *timeline, p plan) error {
	if err := pause(ctx, p.calm); err != nil {
		return err
	}
	for range p.outages {
		srv.kill()
		t.say("down", "redis is killed")
		if err := pause(ctx, p.outage); err != nil {
			return err
		}
		if err := srv.start(ctx); err != nil {
			return err
		}
		t.say("up", "redis is started, empty")
		if err := pause(ctx, p.calm); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return errors.New("interrupted")
	}
}
