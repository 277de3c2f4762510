// Command observability shows what an SRE sees: three worker processes that take locks
// from each other, with everything around them that tells what they do.
//
//	cd examples/observability && go run .
//
// It starts a Redis (redis-server if there is one, else a simulated one), the workers,
// Prometheus if there is one, with the rules of telemetry/alerts, and a small store for
// traces; it drives load, cuts Redis off for a while, and prints where to look. Where
// OTEL_EXPORTER_OTLP_ENDPOINT is set traces go there instead.
//
// The workers are in worker.go and load.go, what each of them sends is in signals.go,
// and all that is around them is in stage.go.
package main

import (
	"context"
	"flag"
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
		os.Exit(workerMain(env))
	}
	outage := flag.Duration("outage", 15*time.Second, "how long Redis is cut off")
	after := flag.Duration("for", 0, "how long to go on after that; 0 is until interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *outage, *after); err != nil {
		fmt.Fprintln(os.Stderr, "observability:", err)
		os.Exit(1)
	}
}

// run is the whole show.
func run(ctx context.Context, out io.Writer, outage, after time.Duration) error {
	s, err := open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	s.whereToLook(out)
	say := func(format string, args ...any) {
		fmt.Fprintf(out, time.Now().Format("15:04:05 ")+format+"\n", args...)
	}
	say("All is well. The outage comes in 20 s.")
	if !pause(ctx, 20*time.Second) {
		return nil
	}
	s.proxy.cut()
	say("Redis is cut off. Class stock fails closed, class report goes on in each process by itself.")
	if !pause(ctx, outage) {
		return nil
	}
	s.proxy.mend()
	say("Redis is back. Alerts clear within half a minute: their windows are short here.")
	if after > 0 {
		pause(ctx, after)
		return nil
	}
	say("Interrupt to end.")
	<-ctx.Done()
	return nil
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
