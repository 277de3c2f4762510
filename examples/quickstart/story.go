package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
)

const buyers = 200

// story is what the acts share.
type story struct {
	*screen
	server *server
	proxy  *proxy
	crew   *crew
	shop   *shop // straight to Redis, past the proxy
	prefix string
	tally  tally
	wrong  []error // claims that did not hold
}

// open sets everything up: Redis, a proxy in front of it, and the workers.
func open(ctx context.Context, out io.Writer, url string) (*story, error) {
	s := &story{screen: &screen{w: out}, prefix: "quickstart:" + rand.Text()[:8] + ":"}
	if err := s.setUp(ctx, url); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *story) setUp(ctx context.Context, url string) (err error) {
	if s.server, err = openServer(ctx, url); err != nil {
		return err
	}
	s.shop = newShop(s.server.rdb, s.prefix)
	opts := s.server.rdb.Options()
	if s.proxy, err = openProxy(opts.Network, opts.Addr); err != nil {
		return err
	}
	s.crew, err = hire(ctx, settings{Redis: s.server.url, Via: s.proxy.addr(), Prefix: s.prefix})
	if err != nil {
		return err
	}
	for range workers { // each says that it is ready
		if _, err := s.crew.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) close() {
	if s.crew != nil {
		s.crew.dismiss()
	}
	if s.proxy != nil {
		s.proxy.close()
	}
	if s.server != nil {
		if err := s.server.clean(s.prefix); err != nil {
			s.say("Keys named %s* are left in Redis: %v", s.prefix, err)
		}
		s.server.close()
	}
}

// sell has the buyers served by the workers, all at once.
func (s *story) sell(guard string, who []int) error {
	s.tally = tally{results: make(map[result]int)}
	shares := make([][]int, workers)
	for i, buyer := range who {
		shares[i%workers] = append(shares[i%workers], buyer)
	}
	for i, share := range shares {
		if err := s.crew.tell(i+1, order{Do: doSell, Guard: guard, Buyers: share}); err != nil {
			return err
		}
	}
	return nil
}

// until counts what the workers tell until done.
func (s *story) until(ctx context.Context, done func(*tally) bool) error {
	for !done(&s.tally) {
		e, err := s.crew.next(ctx)
		if err != nil {
			return err
		}
		s.tally.count(e)
		if e.Kind == isServed {
			s.mark(e.Result)
		}
	}
	s.endRow()
	return nil
}

// serve is sell, until each buyer has a unit or knows that there are none left.
func (s *story) serve(ctx context.Context, guard string, who []int) error {
	if err := s.sell(guard, who); err != nil {
		return err
	}
	if err := s.until(ctx, func(t *tally) bool { return t.served == len(who) }); err != nil {
		return err
	}
	s.claim(len(s.tally.again) == 0, "%d buyers could not be served: %s", len(s.tally.again), s.tally.problem)
	return nil
}

// wholeSale serves everybody and returns how many got a unit, and how many are left
// to all appearances.
func (s *story) wholeSale(ctx context.Context, guard string) (ordered, left int, err error) {
	if err := s.shop.fill(ctx); err != nil {
		return 0, 0, err
	}
	if err := s.serve(ctx, guard, everybody()); err != nil {
		return 0, 0, err
	}
	return s.shop.books(ctx)
}

func everybody() []int {
	all := make([]int, buyers)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// claim notes what was promised and is not so.
func (s *story) claim(holds bool, format string, args ...any) {
	if !holds {
		err := fmt.Errorf(format, args...)
		s.say("WRONG: %v", err)
		s.wrong = append(s.wrong, err)
	}
}
