package client

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	subscriptionLinger = 500 * time.Millisecond // without a waiter
	subscriptionCheck  = 3 * time.Second        // without a word, before a ping
	maxResubscribeGap  = time.Second
	refusedGap         = 30 * time.Second // before a subscription that was refused is tried again
)

// subscription listens on the channel on which hand-offs are told: one connection
// for all waiters of a Client, while there are any. What it misses the polls find.
type subscription struct {
	client *Client

	mu      sync.Mutex
	needed  bool
	stopped bool
	cancel  context.CancelFunc // nil while nobody listens
	idle    *time.Timer
	failing bool // it was said that messages do not come
	work    tracker
}

// need says whether there are waiters.
func (s *subscription) need(needed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.needed == needed || s.stopped {
		return
	}
	s.needed = needed
	switch {
	case !needed:
		s.idle = time.AfterFunc(subscriptionLinger, s.rest)
	case s.cancel == nil:
		s.start()
	default:
		s.idle.Stop()
	}
}

// start begins to listen. Its caller holds s.mu.
func (s *subscription) start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.work.add(1)
	go s.run(ctx)
}

// rest ends the listening, unless it is needed again.
func (s *subscription) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.needed && s.cancel != nil {
		s.cancel()
		s.cancel = nil
	}
}

// stop ends the listening for good.
func (s *subscription) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.cancel != nil {
		s.cancel()
	}
}

func (s *subscription) run(ctx context.Context) {
	defer s.work.add(-1)
	gap := minPoll
	for {
		begun := time.Now()
		err := s.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		s.note(err)
		if _, verdict := classify(err); errors.Is(verdict, ErrRefused) {
			gap = refusedGap
		} else if time.Since(begun) > maxResubscribeGap {
			gap = minPoll
		}
		select {
		case <-time.After(jittered(gap)):
		case <-ctx.Done():
			return
		}
		gap = min(2*gap, maxResubscribeGap)
	}
}

// listen subscribes and delivers messages until that fails or ctx ends.
func (s *subscription) listen(ctx context.Context) error {
	c := s.client
	background := c.background(ctx)
	sub := c.store.rdb.Subscribe(background)
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer func() {
		if stop() {
			_ = sub.Close()
		}
	}()
	if err := sub.Subscribe(background, c.store.channel); err != nil {
		return err
	}
	pinged := false
	for {
		got, err := sub.ReceiveTimeout(background, subscriptionCheck)
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout() && !pinged:
			pinged = true
			if err := sub.Ping(background); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		pinged = false
		switch m := got.(type) {
		case *redis.Subscription:
			s.note(nil)
			c.waiters.pollAll() // what was told before is lost
		case *redis.Message:
			c.waiters.deliver(m.Payload)
		}
	}
}

// note says once that messages do not come, and once that they come again.
func (s *subscription) note(err error) {
	s.mu.Lock()
	begins, ends := err != nil && !s.failing, err == nil && s.failing
	s.failing = err != nil
	s.mu.Unlock()
	switch {
	case begins:
		s.client.logger.Warn("holdfast: hand-offs cannot be told at once; until they can, each waiter finds its own within a second",
			"channel", s.client.store.channel, "error", err)
	case ends:
		s.client.logger.Info("holdfast: hand-offs are told at once again")
	}
}
