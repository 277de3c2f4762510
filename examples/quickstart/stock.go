package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	units = 50
	// thinkTime is what lies between the look at the stock and the change: a price
	// rule, a fraud check. It is what makes the race certain.
	thinkTime = 8 * time.Millisecond
)

// shop keeps its stock in Redis: a number of units, and the set of those who got one.
type shop struct {
	rdb           *redis.Client
	stock, orders string // keys
}

func newShop(rdb *redis.Client, prefix string) *shop {
	return &shop{rdb: rdb, stock: prefix + "stock", orders: prefix + "orders"}
}

// reserve reads, checks and writes. It is right only if nobody else does the same
// between the first line and the last.
func (s *shop) reserve(ctx context.Context, buyer int) (result, error) {
	if got, err := s.rdb.SIsMember(ctx, s.orders, buyer).Result(); got || err != nil {
		return sold, err // it comes again, since the answer to its order was lost
	}
	left, err := s.rdb.Get(ctx, s.stock).Int()
	if left == 0 || err != nil {
		return soldOut, err
	}
	time.Sleep(thinkTime)
	_, err = s.rdb.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.Set(ctx, s.stock, left-1, 0)
		tx.SAdd(ctx, s.orders, buyer)
		return nil
	})
	return sold, err
}

// fill begins a sale.
func (s *shop) fill(ctx context.Context) error {
	_, err := s.rdb.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.Set(ctx, s.stock, units, 0)
		tx.Del(ctx, s.orders)
		return nil
	})
	return err
}

// books returns how many have got a unit, and how many units are left.
func (s *shop) books(ctx context.Context) (ordered, left int, err error) {
	n, err := s.rdb.SCard(ctx, s.orders).Result()
	if err != nil {
		return 0, 0, err
	}
	left, err = s.rdb.Get(ctx, s.stock).Int()
	return int(n), left, err
}
