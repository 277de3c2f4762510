package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
)

// C017: releasing a slot too often, or a lease that is none, raises no capacity.
func TestC017CapacityIsNeverRaised(t *testing.T) {
	s := newSite(t)
	c, two := s.process(), holdfast.Slots(2)
	l := s.acquire(c, "k", two)
	for range 3 {
		s.release(l)
	}
	var none *holdfast.Lease
	s.only(none.Release(s.ctx), holdfast.ErrNotHeld)
	var granted int
	for range 5 {
		if _, err := s.process().TryAcquire(s.ctx, "k", two); err == nil {
			granted++
		}
	}
	info, err := c.Inspect(s.ctx, "k")
	if granted != 2 || err != nil || info.Free != 0 || info.Slots != 2 {
		t.Errorf("%d granted; %+v, %v", granted, info, err)
	}
}

// C018: a slot that has expired is not given back a second time.
func TestC018AnExpiredSlotIsNotReleasedAgain(t *testing.T) {
	s := newSite(t)
	one := holdfast.Slots(1)
	first := s.acquire(s.process(), "k", one, holdfast.WithTTL(200*time.Millisecond), holdfast.WithoutRenewal())
	second := s.acquire(s.process(), "k", one)
	s.only(first.Release(s.ctx), holdfast.ErrNotHeld)
	if _, err := s.process().TryAcquire(s.ctx, "k", one); !errors.Is(err, holdfast.ErrNotAcquired) {
		t.Errorf("a third: %v", err)
	}
	s.release(second)
}

// C031: a lock on several keys fails where one of them is another's, and keeps none.
func TestC031AllOrNone(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k2")
	c := s.process()
	ctx, cancel := context.WithTimeout(s.ctx, 500*time.Millisecond)
	defer cancel()
	_, err := c.AcquireAll(ctx, []string{"k1", "k2", "k3"})
	s.only(err, holdfast.ErrNotAcquired)
	var held *holdfast.HeldError
	if !errors.As(err, &held) || held.Key != "k2" {
		t.Errorf("%v does not say which key", err)
	}
	s.await("k1 and k3 free", func() bool { return !s.held("k1") && !s.held("k3") })
	s.release(holder)
}

// C032: whatever order the keys come in nobody waits in a circle, and whoever is
// interrupted leaves nothing behind.
func TestC032NoCircleAndNoRest(t *testing.T) {
	s := newSite(t)
	var clients []*holdfast.Client
	for range 5 {
		clients = append(clients, s.process())
	}
	orders := [][]string{{"a", "b"}, {"b", "a"}, {"b", "c"}, {"c", "a"}}
	var work sync.WaitGroup
	for i := range 30 {
		work.Go(func() {
			for n := range rounds(5, 50) {
				l, err := clients[i%5].AcquireAll(s.ctx, orders[(i+n)%4], holdfast.WithWaitTimeout(2*patience))
				if err != nil {
					t.Error(err)
					return
				}
				s.release(l)
			}
		})
	}
	work.Wait()
	for i := range rounds(100, 500) {
		work.Go(func() {
			ctx, cancel := context.WithTimeout(s.ctx, time.Duration(rand.IntN(40))*time.Millisecond)
			defer cancel()
			if l, err := clients[i%5].AcquireAll(ctx, orders[i%4]); err == nil {
				_ = l.Release(s.ctx)
			}
		})
	}
	work.Wait()
	s.await("no key that is held", func() bool { return len(s.records()) == 0 })
	for _, key := range []string{"a", "b", "c"} {
		s.awaitQueue(key, 0)
	}
}

// C050, C051, C052: each reader is renewed by itself, dies by itself, and shortens
// nobody's lease.
func TestC050EachReaderForItself(t *testing.T) {
	s := newSite(t)
	shared := holdfast.Shared()
	var readers []*holdfast.Lease
	for range 10 {
		c := s.process()
		for range 10 {
			readers = append(readers, s.acquire(c, "k", shared, holdfast.WithTTL(2*time.Second)))
		}
	}
	brief := s.acquire(s.process(), "k", shared, holdfast.WithTTL(300*time.Millisecond), holdfast.WithoutRenewal())
	<-brief.Context().Done()
	writer := s.process()
	for range 5 {
		time.Sleep(500 * time.Millisecond)
		s.refused(writer, "k")
	}
	info, err := writer.Inspect(s.ctx, "k")
	if err != nil || len(info.Holders) != len(readers) {
		t.Errorf("%d holders, %v", len(info.Holders), err)
	}
	for _, l := range readers {
		s.release(l)
	}
	s.release(s.acquire(writer, "k"))
}

// A writer behind overlapping readers gets in within one reader's hold, and readers
// behind a writer that leaves flow again at once.
func TestReadersAndWritersTakeTurns(t *testing.T) {
	s := newSite(t)
	shared := holdfast.Shared()
	first := s.acquire(s.process(), "k", shared)
	writer := s.waiting("k")
	var readers []<-chan *holdfast.Lease
	for range 3 {
		readers = append(readers, s.waiting("k", shared)) // behind the writer
	}
	s.release(first)
	w := s.granted(writer, soon)
	for _, r := range readers {
		s.waitsStill(r)
	}
	s.release(w)
	var inside []*holdfast.Lease
	for _, r := range readers { // together
		inside = append(inside, s.granted(r, soon))
	}

	ctx, cancel := context.WithCancel(s.ctx)
	gone := make(chan error, 1)
	c := s.process()
	go func() {
		_, err := c.Acquire(ctx, "k")
		gone <- err
	}()
	s.awaitQueue("k", 1)
	behind := s.waiting("k", shared)
	if l, err := s.process().TryAcquire(s.ctx, "k", shared, holdfast.Barging()); err != nil {
		t.Errorf("a reader that barges: %v", err)
	} else {
		s.release(l)
	}
	s.refusedShared("k")
	s.waitsStill(behind)
	cancel()
	s.only(<-gone, holdfast.ErrNotAcquired)
	inside = append(inside, s.granted(behind, soon))
	for _, l := range inside {
		s.release(l)
	}
}

// refusedShared checks that a try overtakes nobody.
func (s *site) refusedShared(key string) {
	s.Helper()
	if _, err := s.process().TryAcquire(s.ctx, key, holdfast.Shared()); !errors.Is(err, holdfast.ErrNotAcquired) {
		s.Errorf("a try beside a queue: %v", err)
	}
}

// A downgrade lets in at once the readers who wait.
func TestADowngradeLetsWaitingReadersIn(t *testing.T) {
	s := newSite(t)
	l := s.acquire(s.process(), "k")
	reader := s.waiting("k", holdfast.Shared())
	writer := s.waiting("k")
	if err := l.Downgrade(s.ctx); err != nil {
		t.Fatal(err)
	}
	r := s.granted(reader, soon)
	s.waitsStill(writer)
	s.release(l)
	s.waitsStill(writer)
	s.release(r)
	s.release(s.granted(writer, soon))
}

// C068: whoever waits for a slot gets the first that is freed.
func TestC068AFreeSlotIsNotMissed(t *testing.T) {
	s := newSite(t)
	three := holdfast.Slots(3)
	a, b := s.process(), s.process()
	var held []*holdfast.Lease
	for range 3 {
		held = append(held, s.acquire(a, "k", three))
	}
	for range rounds(60, 300) {
		got := make(chan *holdfast.Lease, 1)
		go func() { got <- s.acquire(b, "k", three) }()
		time.Sleep(rand.N(5 * time.Millisecond))
		i := rand.IntN(3)
		s.release(held[i])
		start := time.Now()
		held[i] = s.granted(got, soon)
		if d := time.Since(start); d > 900*time.Millisecond {
			t.Errorf("a free slot was found after %v", d)
		}
		a, b = b, a
	}
}

// C070: the tickets of a queue do not drift, whatever happens to those who wait.
func TestC070TicketsDoNotDrift(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k")
	dead := s.spawn("take", "k", "30s")
	s.awaitQueue("k", 1)
	var work sync.WaitGroup
	for range 3 {
		c := s.process()
		work.Go(func() {
			for range rounds(5, 100) {
				_, _ = c.Acquire(s.ctx, "k", holdfast.WithWaitTimeout(200*time.Millisecond))
			}
		})
	}
	for range rounds(5, 100) {
		time.Sleep(200 * time.Millisecond)
		for _, z := range s.rdb.ZRangeWithScores(s.ctx, record("k")+":queue", 0, -1).Val() {
			if now := s.rdb.Time(s.ctx).Val(); z.Score > float64(now.UnixMicro()+1000) {
				t.Errorf("a ticket of the future: %v at %v", z.Score, now)
			}
		}
	}
	work.Wait()
	s.awaitQueue("k", 1) // the others have left
	dead.kill()
	live := s.waiting("k")
	s.release(holder)
	s.release(s.granted(live, 4*time.Second+soon))
}

// C071: those who wait for long keep their places.
func TestC071LongWaitsKeepTheirPlaces(t *testing.T) {
	s := newSite(t)
	holder := s.acquire(s.process(), "k")
	b, c := s.waiting("k"), s.waiting("k")
	time.Sleep(4 * time.Second) // longer than a beat lasts
	d := s.waiting("k")
	s.release(holder)
	for i, w := range []<-chan *holdfast.Lease{b, c, d} {
		l := s.granted(w, soon)
		for _, later := range []<-chan *holdfast.Lease{b, c, d}[i+1:] {
			s.waitsStill(later)
		}
		s.release(l)
	}
}

// C141: nothing stays subscribed when nobody waits, and later waits are as good.
func TestC141NothingStaysSubscribed(t *testing.T) {
	s := newSite(t)
	a, b := s.process(), s.process()
	for round := range 3 {
		var holders []*holdfast.Lease
		for i := range 50 {
			holders = append(holders, s.acquire(a, fmt.Sprint("k", i)))
		}
		var work sync.WaitGroup
		for i := range 200 {
			limit := patience
			if i%4 == 0 {
				limit = rand.N(50 * time.Millisecond)
			}
			work.Go(func() {
				l, err := b.Acquire(s.ctx, fmt.Sprint("k", i%50), holdfast.WithWaitTimeout(limit+time.Millisecond))
				switch {
				case err == nil:
					s.release(l)
				case limit == patience:
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		for _, l := range holders {
			s.release(l)
		}
		work.Wait()
		s.awaitListening(0)
	}
}

// C148: slots that nobody gives back leave no key that would stay.
func TestC148ExpiredSlotsLeaveNoKeys(t *testing.T) {
	s := newSite(t)
	c := s.process()
	n := rounds(300, 10000)
	for i := range n {
		s.acquire(c, fmt.Sprint("k", i), holdfast.Slots(2), holdfast.WithTTL(500*time.Millisecond), holdfast.WithoutRenewal())
	}
	s.await("nothing but the fences", func() bool { return s.rdb.DBSize(s.ctx).Val() == int64(n) })
	for _, key := range s.rdb.Keys(s.ctx, "*").Val() {
		if ttl := s.rdb.PTTL(s.ctx, key).Val(); ttl <= 0 {
			t.Errorf("%s has the TTL %v", key, ttl)
		}
	}
}
