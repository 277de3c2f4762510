package holdfast_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// On a Cluster of three nodes: waits are woken by whichever node has the lock, and
// many keys may be in many slots.
func TestWaitsOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	s := &site{T: t, ctx: t.Context()}
	rdb := cluster.Client(t)
	a, b := s.client(cluster.Client(t)), s.client(cluster.Client(t))
	queued := func(key string, n int64) {
		s.await("a queue", func() bool { return rdb.ZCard(s.ctx, record(key)+":queue").Val() == n })
	}
	for i := range 9 { // over all nodes
		key := fmt.Sprint("k", i)
		holder := s.acquire(a, key)
		got := make(chan *holdfast.Lease, 1)
		go func() { got <- s.acquire(b, key) }()
		queued(key, 1)
		s.await("the subscription", func() bool { return listeners(s, rdb) > 0 })
		s.release(holder)
		start := time.Now()
		s.release(s.granted(got, soon))
		if d := time.Since(start); d > 900*time.Millisecond {
			t.Errorf("%s: woken after %v", key, d)
		}
	}

	keys := []string{"k0", "k1", "k2", "k3", "k4"}
	all := s.acquireAll(a, keys)
	one := make(chan *holdfast.Lease, 1)
	go func() { one <- s.acquire(b, "k3") }()
	queued("k3", 1)
	many := make(chan *holdfast.Lease, 1)
	go func() { many <- s.acquireAll(b, []string{"k4", "k1"}) }()
	queued("k1", 1)
	s.release(all)
	s.release(s.granted(one, soon))
	s.release(s.granted(many, soon))
	for _, key := range keys {
		if n := rdb.Exists(s.ctx, record(key)).Val(); n != 0 {
			t.Errorf("%s is held", key)
		}
	}
}

func (s *site) acquireAll(c *holdfast.Client, keys []string) *holdfast.Lease {
	s.Helper()
	l, err := c.AcquireAll(s.ctx, keys, holdfast.WithWaitTimeout(patience), holdfast.WithTTL(3*time.Second))
	if err != nil {
		s.Error(err)
	}
	return l
}

// listeners counts the subscriptions on all nodes.
func listeners(s *site, rdb *redis.ClusterClient) int {
	var n atomic.Int64
	_ = rdb.ForEachMaster(s.ctx, func(_ context.Context, node *redis.Client) error {
		n.Add(int64(len(node.PubSubChannels(s.ctx, "*").Val())))
		return nil
	})
	return int(n.Load())
}
