package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
)

// host plays one machine: it has a Client and, being a process of its own, a gate.
type host struct {
	name    string
	locks   *holdfast.Client
	journal *journal
}

// journal keeps who ran the job at which tick.
type journal struct {
	mu  sync.Mutex
	ran [ticks][]string
}

func (j *journal) note(tick int, host string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ran[tick] = append(j.ran[tick], host)
}

var names = []string{"oslo", "lima", "pune", "bonn"}

// clockStep is by how much the clocks of two hosts differ at least.
const clockStep = 30 * time.Millisecond

// run plays some ticks without a minimum hold, and some with.
func run(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "%d hosts have the same job in their crontab. Their clocks differ by up to %v.\n",
		len(names), time.Duration(len(names)-1)*clockStep)

	fmt.Fprintf(out, "\nA lock that is released when the job is done, after %v:\n", jobTime)
	short, err := play(ctx, out)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe same with holdfast.WithMinHold(%v):\n", minHold)
	long, err := play(ctx, out, holdfast.WithMinHold(minHold))
	if err != nil {
		return err
	}
	return errors.Join(
		check(short > ticks, "the job was to run too often without a minimum hold: %d runs in %d ticks", short, ticks),
		check(long == ticks, "the job was to run once per tick with a minimum hold: %d runs in %d ticks", long, ticks),
	)
}

func check(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// play has all hosts run the job at each tick, and returns how often it ran.
func play(ctx context.Context, out io.Writer, opts ...holdfast.AcquireOption) (runs int, err error) {
	server, err := miniredis.Run()
	if err != nil {
		return 0, err
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	var j journal
	hosts := make([]*host, len(names))
	for i, name := range names {
		locks, err := holdfast.New(rdb, holdfast.WithIdentity(name), holdfast.WithGate(name))
		if err != nil {
			return 0, err
		}
		defer locks.Close(ctx)
		hosts[i] = &host{name: name, locks: locks, journal: &j}
	}
	for tick := range ticks {
		if err := playTick(ctx, hosts, tick, opts); err != nil {
			return 0, err
		}
		ran := j.ran[tick]
		fmt.Fprintf(out, "  tick %d   ran %-8s on %s\n", tick+1, times(len(ran)), strings.Join(ran, ", "))
		runs += len(ran)
	}
	return runs, nil
}

// playTick has each host's clock say that it is time, one after another.
func playTick(ctx context.Context, hosts []*host, tick int, opts []holdfast.AcquireOption) error {
	var all sync.WaitGroup
	errs := make([]error, len(hosts))
	for late, i := range rand.Perm(len(hosts)) {
		all.Go(func() {
			time.Sleep(time.Duration(late) * clockStep)
			errs[i] = hosts[i].onTick(ctx, tick, opts...)
		})
	}
	time.Sleep(interval)
	all.Wait()
	return errors.Join(errs...)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
