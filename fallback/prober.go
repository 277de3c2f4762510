package fallback

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/redis/go-redis/v9"
)

// probeLife is how long the scratch key of a probe stays.
const probeLife = 5 * time.Second

// probeKey is shaped like the keys of a lock, so that a permission for those
// covers it, and is none of them.
func probeKey(prefix string) string { return prefix + "{__probe__}:probe" }

// startProber has the outage probed until it or b ends. Its caller holds b.mu.
func (b *Breaker) startProber(o *outage) {
	if b.rdb != nil && b.ctx.Err() == nil {
		b.work.Go(func() { b.probeUntilOver(o) })
	}
}

// probeUntilOver lets probes take part in what trials decide: without them a
// breaker that nobody calls would stay open. They take no slot of the trials while
// they wait for an answer.
func (b *Breaker) probeUntilOver(o *outage) {
	timer := time.NewTimer(b.untilProbe())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-o.over:
			if !o.known {
				b.identify()
			}
			return
		case <-b.ctx.Done():
			return
		}
		next := b.untilProbe()
		switch v := b.probe(); {
		case v == client.Healthy && !o.pass():
			next /= 5
		case v == client.Healthy:
			o.known = o.known || b.identify()
			b.vote(v)
		case v == client.Faulty:
			o.fail()
			if b.State() == HalfOpen {
				b.vote(v)
			}
		}
		timer.Reset(next)
	}
}

func (b *Breaker) untilProbe() time.Duration {
	d := b.cfg.ProbeInterval
	return d*4/5 + rand.N(d*2/5+1)
}

// flapProbes is how many probes in a row must pass where an outage began within the
// breaker's window after the last one.
const flapProbes = 3

// probesNeeded is for an outage that begins now. Its caller holds b.mu.
func (b *Breaker) probesNeeded() int {
	if !b.ended.IsZero() && time.Since(b.ended) < b.cfg.Window {
		return flapProbes
	}
	return 1
}

// pass notes a probe that passed, and tells whether enough have.
func (o *outage) pass() bool {
	o.passed++
	o.steady.Store(o.passed >= o.needed)
	return o.steady.Load()
}

func (o *outage) fail() {
	o.passed = 0
	o.steady.Store(o.needed == 1)
}

// probe asks Redis to write. The command runs in a goroutine of its own, since
// go-redis may ignore ctx while it reads, and no second one starts while it hangs.
func (b *Breaker) probe() client.Verdict {
	if !b.stuck.CompareAndSwap(false, true) {
		return client.Faulty
	}
	ctx, cancel := context.WithTimeout(b.background(b.ctx), b.cfg.ProbeTimeout)
	verdict := make(chan client.Verdict, 1)
	b.work.Go(func() {
		defer b.stuck.Store(false)
		defer cancel()
		err := b.scratch(ctx)
		if err == nil || isReply(err) {
			b.answered()
		}
		verdict <- judge(err)
	})
	select {
	case v := <-verdict:
		return v
	case <-ctx.Done():
		return client.Faulty
	}
}

// scratch writes the probe's key. A panic of a hook in the redis client is a
// failure, not the end of the process.
func (b *Breaker) scratch(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic inside the redis client: %v", p)
		}
	}()
	return b.rdb.Set(ctx, b.key, 1, probeLife).Err()
}

// judge says what the end of a probe tells. A refusal that is no fault of the server
// (NOPERM on the scratch key, a renamed SET, NOAUTH) comes from one that works:
// whether it refuses locks as well is for the attempts to find out, by an error
// that says so.
func judge(err error) client.Verdict {
	v := client.VerdictOf(err)
	if v == client.Neutral && isReply(err) {
		return client.Healthy
	}
	return v
}

// isReply tells whether err holds an error that the server sent.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}
