// Command quickstart is a flash sale: 200 buyers, served by four processes, want 50
// units whose number is kept in Redis. It is sold without a lock, with a mutex in
// each process, with a lock of holdfast, and once more while Redis stops and comes
// back; at the end it shows what the metrics and one trace say of all that.
//
//	go run ./examples/quickstart
//
// needs no server: there is a simulated Redis inside. REDIS_URL names a real one to
// be used instead, such as redis://localhost:6379/0.
//
// To read it, begin with acts.go, which tells the story, then locks.go, where the
// Client is made, and buyer.go, where it is used.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	logging.Disable() // go-redis reports each connection that it loses
	if env := os.Getenv(workerEnv); env != "" {
		os.Exit(workerMain(env)) // this is one of the four
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, os.Getenv("REDIS_URL")); err != nil {
		fmt.Fprintln(os.Stderr, "\nquickstart:", err)
		os.Exit(1)
	}
}

// run plays the acts in their order, on the Redis at url, or a simulated one where
// url is empty. It fails where something that an act claims is not so.
func run(ctx context.Context, out io.Writer, url string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("not at the end after a minute"))
	defer cancel()
	s, err := open(ctx, out, url)
	if err != nil {
		return err
	}
	defer s.close()
	for _, act := range []func(context.Context) error{
		s.prologue,
		s.withoutLock,
		s.withProcessMutex,
		s.withHoldfast,
		s.whileRedisStops,
		s.whenRedisIsBack,
		s.whatTheSignalsSay,
	} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return s.epilogue()
}
