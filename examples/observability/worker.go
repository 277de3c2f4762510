package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fallback"
	"github.com/holdfast-go/holdfast/telemetry"
)

// workerEnv holds the settings of a worker, and so makes the process one.
const workerEnv = "HOLDFAST_OBSERVABILITY_WORKER"

// settings are what a worker learns from its parent.
type settings struct {
	Worker int
	Redis  string // address of the proxy
	Traces string // URL of the OTLP endpoint
}

// workerMain is the life of a worker: until it is interrupted, or its parent, and with
// it its standard input, has gone.
func workerMain(env string) (status int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var s settings
	err := json.Unmarshal([]byte(env), &s)
	if err == nil {
		err = work(ctx, s)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "observability: worker %d: %v\n", s.Worker, err)
		return 1
	}
	return 0
}

func work(ctx context.Context, s settings) (err error) {
	sig, err := newSignals(ctx, s.Worker, s.Traces, s.Worker == workers)
	if err != nil {
		return err
	}
	defer func() { _ = sig.close() }() // there may be nobody any more to take it
	rdb := redis.NewClient(&redis.Options{Addr: s.Redis, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
	defer rdb.Close()
	page := telemetry.NewPage()
	locks, err := holdfast.New(rdb,
		holdfast.WithIdentity(fmt.Sprintf("worker-%d", s.Worker)),
		holdfast.WithTracerProvider(sig.tracers),
		holdfast.WithMeterProvider(sig.meters),
		holdfast.WithPage(page),
		holdfast.WithLogger(slog.New(slog.DiscardHandler)), // the page tells
		holdfast.WithTTL(4*time.Second),
		holdfast.WithBreaker(fallback.BreakerConfig{Window: 2 * time.Second, OpenTimeout: time.Second, ProbeInterval: 500 * time.Millisecond}),
		holdfast.WithFallback(fallback.Policies{Classes: map[string]fallback.Policy{classReport: fallback.Local{MaxTTL: 4 * time.Second}}}))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: routes(page, sig.metrics), ReadHeaderTimeout: time.Second}
	go func() { _ = srv.Serve(l) }() // until Close
	defer srv.Close()
	fmt.Println(l.Addr())

	drive(ctx, locks, s.Worker, sig.tracers.Tracer("shop"))
	closing, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := locks.Close(closing); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// routes are what a service has on its debug port.
func routes(page, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/debug/holdfast", page)
	mux.Handle("/metrics", metrics)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	return mux
}
