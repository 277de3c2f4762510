package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast"
)

// workerEnv holds the settings of a worker, and so makes the process one.
const workerEnv = "HOLDFAST_QUICKSTART_WORKER"

// settings are what a worker learns from its parent.
type settings struct {
	Worker int
	Redis  string // URL
	Via    string // address of the proxy
	Prefix string // of all keys
}

// worker is one of the processes that sell.
type worker struct {
	shop    *shop
	locks   *holdfast.Client
	signals *signals
	tracer  trace.Tracer
	mutex   sync.Mutex  // what guardMutex means
	rest    atomic.Bool // from ranking bestsellers

	mu  sync.Mutex // guards out
	out *json.Encoder
}

// workerMain is the life of a worker process. It ends with its standard input, and
// so at the latest with its parent.
func workerMain(env string) (status int) {
	signal.Ignore(os.Interrupt) // a terminal tells all processes; the parent sees to it
	var s settings
	err := json.Unmarshal([]byte(env), &s)
	if err == nil {
		err = work(s, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "quickstart: worker %d: %v\n", s.Worker, err)
		return 1
	}
	return 0
}

func work(s settings, in io.Reader, out io.Writer) error {
	rdb, err := connect(s.Redis, s.Via)
	if err != nil {
		return err
	}
	defer rdb.Close()
	w := &worker{shop: newShop(rdb, s.Prefix), signals: newSignals(), out: json.NewEncoder(out)}
	w.tracer = w.signals.tracers.Tracer("quickstart")
	w.locks, err = openLocks(rdb, fmt.Sprintf("worker %d", s.Worker), s.Prefix+"lock:", w.signals)
	if err != nil {
		return err
	}
	if err := rdb.Ping(context.Background()).Err(); err != nil {
		return err
	}
	w.send(event{Kind: isReady})
	return w.obey(json.NewDecoder(in))
}

// obey carries out orders, each beside the others, until there are no more.
func (w *worker) obey(orders *json.Decoder) error {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		switch o.Do {
		case doSell:
			for _, buyer := range o.Buyers {
				work.Go(func() { w.serve(ctx, o.Guard, buyer) })
			}
		case doRank:
			work.Go(func() { w.rankBestsellers(ctx) })
		case doRest:
			w.rest.Store(true)
		case doReport:
			w.report(ctx)
		}
	}
}

// report ends the Client, which has all that its leases met counted by then, and
// sends what was measured.
func (w *worker) report(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	err := w.locks.Close(ctx)
	r, collecting := w.signals.report(ctx)
	e := event{Kind: isReport, Report: r}
	if err := errors.Join(err, collecting); err != nil {
		e.Error = err.Error()
	}
	w.send(e)
}

// send tells the parent. If that is gone, so is standard input: obey ends.
func (w *worker) send(e event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.out.Encode(e)
}
