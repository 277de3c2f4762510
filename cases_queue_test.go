package holdfast_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
)

// take is a child that takes a lock, if need be after a wait, and holds it.
func take(ctx context.Context, rdb *redis.Client) error {
	key, ttl, _ := strings.Cut(os.Getenv(childArg), " ")
	d, err := time.ParseDuration(ttl)
	if err != nil {
		return err
	}
	c, err := holdfast.New(rdb)
	if err != nil {
		return err
	}
	if _, err := c.Acquire(ctx, key, holdfast.WithTTL(d)); err != nil {
		return err
	}
	tell("held")
	<-ctx.Done()
	return nil
}

// awaitQueue waits until n contenders are in the queue of the lock in Redis.
func (s *site) awaitQueue(key string, n int64) {
	s.Helper()
	s.await(fmt.Sprintf("a queue of %d", n), func() bool { return s.rdb.ZCard(s.ctx, record(key)+":queue").Val() == n })
}

// awaitListening waits until n channels are subscribed to.
func (s *site) awaitListening(n int) {
	s.Helper()
	s.await(fmt.Sprintf("%d subscriptions", n), func() bool { return len(s.rdb.PubSubChannels(s.ctx, "*").Val()) == n })
}

// waiting starts an acquire, which a process of its own does, and returns when it queues.
func (s *site) waiting(key string, opts ...holdfast.AcquireOption) <-chan *holdfast.Lease {
	s.Helper()
	return s.waits(s.process(), key, opts...)
}

func (s *site) waits(c *holdfast.Client, key string, opts ...holdfast.AcquireOption) <-chan *holdfast.Lease {
	s.Helper()
	before := s.rdb.ZCard(s.ctx, record(key)+":queue").Val()
	got := make(chan *holdfast.Lease, 1)
	go func() {
		l, err := c.Acquire(s.ctx, key, append([]holdfast.AcquireOption{holdfast.WithWaitTimeout(patience)}, opts...)...)
		if err != nil {
			s.Error(err)
		}
		got <- l
	}()
	s.awaitQueue(key, before+1)
	return got
}

func (s *site) granted(got <-chan *holdfast.Lease, within time.Duration) *holdfast.Lease {
	s.Helper()
	select {
	case l := <-got:
		if l == nil {
			s.FailNow()
		}
		return l
	case <-time.After(within):
		s.Fatalf("not granted in %v", within)
	}
	return nil
}

func (s *site) waitsStill(got <-chan *holdfast.Lease) {
	s.Helper()
	select {
	case <-got:
		s.Error("granted too early")
	default:
	}
}

// A hand-off costs a waiter one command, and the waiting goes in the order of arrival.
func TestHandOffsGoInOrderAndCostTwoCommands(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k")
	const n = 5
	var waiters []<-chan *holdfast.Lease
	for range n {
		waiters = append(waiters, s.waits(s.proxied(), "k"))
	}
	s.awaitListening(n)
	s.proxy.ResetStats()
	fence, _ := holder.Fence()
	s.release(holder)
	for i, w := range waiters {
		l := s.granted(w, soon)
		for _, later := range waiters[i+1:] {
			s.waitsStill(later)
		}
		if f, ok := l.Fence(); !ok || f <= fence {
			t.Errorf("fence %d after %d", f, fence)
		} else {
			fence = f
		}
		info, err := s.process().Inspect(s.ctx, "k")
		if err != nil || info.Fence != fence || info.Waiting != n-1-i {
			t.Errorf("%+v, %v", info, err)
		}
		s.release(l)
	}
	var commands int
	for _, c := range s.proxy.Commands() {
		if c.Script() && c.Args[1] == "7" {
			commands++
		}
	}
	if commands != n { // one release each: the acquire was sent before
		t.Errorf("%d commands for %d hand-offs", commands, n)
	}
	s.await("an idle lock that leaves no key but the fence", func() bool {
		return fmt.Sprint(s.rdb.Keys(s.ctx, "*").Val()) == "[holdfast:{k}:fence]"
	})
	s.awaitListening(0)
}

// C054: a release at any moment of a waiter's coming is not missed.
func TestC054AReleaseBeforeTheSubscriptionIsNotMissed(t *testing.T) {
	s := newSite(t)
	a := s.process()
	for i := range rounds(60, 1000) {
		key := fmt.Sprint("k", i%7)
		l := s.acquire(a, key)
		b := s.proxied()
		s.proxy.Delay(time.Duration(i%4) * time.Millisecond)
		got := make(chan *holdfast.Lease, 1)
		go func() {
			l, err := b.Acquire(s.ctx, key, holdfast.WithWaitTimeout(patience))
			if err != nil {
				t.Error(err)
			}
			got <- l
		}()
		time.Sleep(time.Duration(i%6) * time.Millisecond)
		s.release(l)
		s.release(s.granted(got, soon))
	}
}

// C055: a lock that ends without a message is noticed.
func TestC055AnEndWithoutAMessage(t *testing.T) {
	s := newSite(t)
	t.Run("expiry", func(t *testing.T) {
		holder := s.spawn("take", "k", "1s")
		holder.expect("held")
		w := s.waiting("k")
		holder.kill()
		s.release(s.granted(w, 1250*time.Millisecond+soon))
	})
	t.Run("deleted", func(t *testing.T) {
		_ = s.acquire(s.process(), "d")
		w := s.waiting("d")
		s.awaitListening(1)
		s.del("d")
		s.release(s.granted(w, time.Second+soon))
	})
}

// C056: the subscription dies, the server restarts without data: each still gets its
// turn.
func TestC056ADeadSubscriptionKeepsNobodyWaiting(t *testing.T) {
	s := newSite(t)
	for name, harm := range map[string]func(){
		"killed subscriptions": func() { s.rdb.Do(s.ctx, "CLIENT", "KILL", "TYPE", "pubsub") },
		"script flush":         func() { s.rdb.ScriptFlush(s.ctx) },
		"restart":              func() { s.srv.Restart() },
	} {
		c := s.process()
		holder := s.acquire(c, "k")
		var work sync.WaitGroup
		for range 10 {
			c := s.process(holdfast.WithCommandTimeout(time.Second))
			for range 5 {
				work.Go(func() {
					for { // a restart may be told as an outage
						l, err := c.Acquire(s.ctx, "k", holdfast.WithWaitTimeout(patience))
						if err != nil {
							time.Sleep(20 * time.Millisecond)
							continue
						}
						_ = l.Release(s.ctx)
						return
					}
				})
			}
		}
		s.awaitQueue("k", 10)
		harm()
		time.Sleep(200 * time.Millisecond)
		_ = holder.Release(s.ctx)
		start := time.Now()
		work.Wait()
		if d := time.Since(start); d > 4*time.Second+soon {
			t.Errorf("%s: all had their turn after %v", name, d)
		}
		t.Log(name, time.Since(start))
	}
	s.awaitListening(0)
}

// C057: one who leaves takes no other's subscription along.
func TestC057OneWhoLeavesHarmsNoOther(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k")
	other := s.acquire(s.process(), "other")
	c := s.process()
	ctx, cancel := context.WithCancel(s.ctx)
	left := make(chan error, 1)
	go func() {
		_, err := c.Acquire(ctx, "other")
		left <- err
	}()
	s.awaitQueue("other", 1)
	w := s.waits(c, "k")
	s.awaitListening(1)
	cancel()
	s.only(<-left, holdfast.ErrNotAcquired)
	s.awaitQueue("other", 0)
	s.release(holder)
	s.release(s.granted(w, soon))
	s.release(other)
}

// C060: messages that mean nothing cost nothing.
func TestC060SurplusMessagesWakeNobody(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k")
	w := s.waits(s.proxied(), "k")
	s.awaitListening(1)
	channel := s.rdb.PubSubChannels(s.ctx, "*").Val()[0]
	s.proxy.ResetStats()
	for i := range 1000 {
		s.rdb.Publish(s.ctx, channel, []string{"", "x", "1 2 h", "1  h", fmt.Sprintf("%d 99 h", i), "zz 9999999999999999 h"}[i%6])
	}
	time.Sleep(2 * time.Second)
	s.waitsStill(w)
	if n := s.proxy.Stats().Total(); n > 20 {
		t.Errorf("%d commands", n)
	}
	s.release(holder)
	s.release(s.granted(w, soon))
}

// C072: fifty waiters that were killed cost one window, not one each.
func TestC072DeadWaitersCostOneWindow(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k")
	var dead []*child
	for range rounds(10, 50) {
		dead = append(dead, s.spawn("take", "k", "30s"))
	}
	s.awaitQueue("k", int64(len(dead)))
	w := s.waiting("k")
	for _, c := range dead {
		c.kill()
	}
	s.release(holder)
	start := time.Now()
	s.release(s.granted(w, 4*time.Second+soon))
	t.Logf("granted %v after the release", time.Since(start))
	if keys := s.rdb.Keys(s.ctx, "*").Val(); len(keys) != 1 {
		t.Errorf("left: %q", keys)
	}
}

// C074: a waiter whose time ran out while the server was frozen leaves nothing that
// others wait for.
func TestC074AWaiterOfAFrozenServerLeavesNoEntry(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k")
	w := s.process(holdfast.WithAttemptTimeout(time.Second), holdfast.WithCommandTimeout(time.Second))
	s.release(s.acquire(w, "warm"))
	s.srv.Freeze()
	ctx, cancel := context.WithTimeout(s.ctx, 200*time.Millisecond)
	defer cancel()
	_, err := w.Acquire(ctx, "k")
	s.only(err, holdfast.ErrUnavailable)
	s.srv.Thaw()
	s.awaitQueue("k", 0)
	next := s.waiting("k")
	s.release(holder)
	s.release(s.granted(next, 4*time.Second+soon))
	s.awaitQueue("k", 0)
}

// C075: a waiter whose entry is gone enters anew.
func TestC075AnEntryThatIsGoneIsEnteredAnew(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k")
	w := s.waiting("k")
	s.awaitListening(1)
	s.rdb.Del(s.ctx, record("k")+":queue", record("k")+":waiters")
	s.awaitQueue("k", 1)
	s.release(holder)
	s.release(s.granted(w, soon))
}

// C144: a user who may not subscribe waits all the same, and opens no connections.
func TestC144WithoutSubscribe(t *testing.T) {
	s := newSite(t)
	s.srv.Do(t, "ACL", "SETUSER", "default", "-subscribe", "-ssubscribe", "-psubscribe")
	holder := s.acquire(s.process(), "k")
	var got []<-chan *holdfast.Lease
	for range 3 {
		got = append(got, s.waiting("k"))
	}
	time.Sleep(time.Second)
	before := s.connections()
	time.Sleep(2 * time.Second)
	if after := s.connections(); after > before+1 {
		t.Errorf("%d connections, then %d", before, after)
	}
	s.release(holder)
	for _, w := range got {
		s.release(s.granted(w, time.Second+soon))
	}
}

func (s *site) connections() int {
	s.Helper()
	return strings.Count(s.rdb.ClientList(s.ctx).Val(), "\n")
}

// C142: those who wait hold no connection of the pool.
func TestC142WaitersHoldNoConnection(t *testing.T) {
	s := newSite(t)
	rdb := s.srv.Client(t, func(o *redis.Options) { o.PoolSize = 3 })
	c := s.client(rdb)
	var holders []*holdfast.Lease
	for i := range 3 {
		holders = append(holders, s.acquire(c, fmt.Sprint("k", i), holdfast.WithTTL(2*time.Second)))
	}
	ctx, cancel := context.WithCancel(s.ctx)
	var work sync.WaitGroup
	for i := range 90 {
		gate := s.client(rdb)
		work.Go(func() { _, _ = gate.Acquire(ctx, fmt.Sprint("k", i%3)) })
	}
	for i := range 3 {
		s.awaitQueue(fmt.Sprint("k", i), 30)
	}
	for range 200 {
		if err := rdb.Get(s.ctx, "data").Err(); err != nil && err.Error() != "redis: nil" {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	work.Wait()
	for _, l := range holders {
		s.release(l)
	}
	if stats := rdb.PoolStats(); stats.Timeouts > 0 {
		t.Errorf("%d waited for a connection in vain", stats.Timeouts)
	}
}
