package main

import (
	"context"
	"errors"
	"time"
)

func (s *story) prologue(context.Context) error {
	s.line("A flash sale: %d buyers, served by %d processes, want %d units.", buyers, workers, units)
	s.line("Redis: %s.", s.server.name)
	s.line("")
	s.line("A mark per buyer:  %c got a unit   %c sold out   %c refused: Redis is down", sold, soldOut, refused)
	s.line("The first row has as many places as there are units.")
	return nil
}

func (s *story) withoutLock(ctx context.Context) error {
	s.title("1. No lock. Read the stock, think for %v, write it back.", thinkTime)
	ordered, left, err := s.wholeSale(ctx, guardNone)
	if err != nil {
		return err
	}
	s.say("Sold %d of %d: OVERSOLD by %d. The stock still says %d.", ordered, units, ordered-units, left)
	s.claim(ordered > units, "the sale without a lock was to oversell")
	return nil
}

func (s *story) withProcessMutex(ctx context.Context) error {
	s.title("2. A sync.Mutex around it. Each of the %d processes has its own.", workers)
	ordered, _, err := s.wholeSale(ctx, guardMutex)
	if err != nil {
		return err
	}
	s.say("Sold %d of %d: OVERSOLD by %d.", ordered, units, ordered-units)
	s.claim(ordered > units, "the sale with a mutex per process was to oversell")
	return nil
}

func (s *story) withHoldfast(ctx context.Context) error {
	s.title("3. A holdfast lock around it: one holder over all processes.")
	ordered, left, err := s.wholeSale(ctx, guardHoldfast)
	if err != nil {
		return err
	}
	s.say("Sold %d of %d, %d left.", ordered, units, left)
	s.claim(ordered == units && left == 0, "the locked sale was to sell exactly %d", units)
	return nil
}

// whileRedisStops begins with a second class of lock in use, which may go on without
// Redis.
func (s *story) whileRedisStops(ctx context.Context) error {
	s.title("4. The same, and in the middle of the sale Redis stops.")
	if err := s.shop.fill(ctx); err != nil {
		return err
	}
	if err := s.crew.tellAll(order{Do: doRank}); err != nil {
		return err
	}
	if err := s.sell(guardHoldfast, everybody()); err != nil {
		return err
	}
	if err := s.until(ctx, func(t *tally) bool { return t.results[sold] >= units*2/5 }); err != nil {
		return err
	}
	s.proxy.cut()
	s.say("--- Redis stops ---")
	if err := s.until(ctx, func(t *tally) bool { return t.served == buyers }); err != nil {
		return err
	}
	n := s.tally.results
	s.say("Class %q fails closed: %d buyers were refused, by an error that", classStock, n[refused])
	s.say("matches ErrUnavailable. Nobody buys without the lock.")
	if n[unsure] > 0 {
		s.say("(%c had the lock when Redis stopped; for 20 ms a process passes it on", unsure)
		s.say("among its own. Whether they got a unit, Redis will tell.)")
	}
	s.claim(n[refused] > n[unsure], "buyers were to be refused, and few to be unsure: %s", s.tally.problem)

	if err := s.until(ctx, func(t *tally) bool { return t.allRanked(true) }); err != nil {
		return err
	}
	s.say("Class %q is Local: once Redis was silent for its MaxTTL, %v,", classBestsellers, maxTTL)
	s.say("each process goes on by itself, with leases that say so (Degraded, no fence).")
	s.say("It may: to work the same list out twice wastes time and breaks nothing.")
	return nil
}

func (s *story) whenRedisIsBack(ctx context.Context) error {
	s.title("5. Redis is back. Who went without comes again.")
	again := s.tally.again
	s.proxy.mend()
	start := time.Now()
	s.tally = tally{}
	if err := s.until(ctx, func(t *tally) bool { return t.allRanked(false) }); err != nil {
		return err
	}
	s.say("%.1f s later each process has its leases from Redis again, with a fence.", time.Since(start).Seconds())
	if err := s.crew.tellAll(order{Do: doRest}); err != nil {
		return err
	}
	for ; len(again) > 0; again = s.tally.again {
		if err := s.sell(guardHoldfast, again); err != nil {
			return err
		}
		if err := s.until(ctx, func(t *tally) bool { return t.served == len(again) }); err != nil {
			return err
		}
		pause(ctx, 100*time.Millisecond) // before anybody comes once more
	}
	ordered, left, err := s.shop.books(ctx)
	if err != nil {
		return err
	}
	s.say("Sold %d of %d in all, %d left: the outage cost time and no unit.", ordered, units, left)
	s.claim(ordered == units && left == 0, "the sale over the outage was to sell exactly %d", units)
	return nil
}

// epilogue fails if any claim was wrong.
func (s *story) epilogue() error {
	s.line("")
	if len(s.wrong) > 0 {
		return errors.Join(s.wrong...)
	}
	s.line("All of this was checked as it ran. The code: examples/quickstart, acts.go first.")
	return nil
}
