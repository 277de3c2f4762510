package client_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// C094: all keys of a lock are in one slot of a Cluster, whatever its name.
func TestCluster(t *testing.T) {
	srv := redistest.Start(t, "--cluster-enabled", "yes")
	srv.Do(t, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
	await(t, "a cluster that is up", func() bool {
		return strings.Contains(fmt.Sprint(srv.Do(t, "CLUSTER", "INFO")), "cluster_state:ok")
	})
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{srv.Addr()}})
	defer rdb.Close()
	a, b := realClient(t, rdb, client.WithTTL(900*time.Millisecond)), realClient(t, rdb)
	ctx := t.Context()
	for _, key := range []string{"order:1", "{a}b", "a{}b", "x}y{z", "ünï", "}{", "{"} {
		for _, opts := range [][]client.AcquireOption{nil, {client.WithOwner("o")}, {client.WithMinHold(time.Millisecond)}} {
			l := must[*client.Lease](t)(a.Acquire(ctx, key, opts...))
			if second(b.TryAcquire(ctx, key)) == nil {
				t.Fatalf("%q: two holders", key)
			}
			if info := must[client.Info](t)(b.Inspect(ctx, key)); !info.Held {
				t.Errorf("%q: %+v", key, info)
			}
			if err := l.Extend(ctx, time.Second); err != nil {
				t.Errorf("%q: %v", key, err)
			}
			if err := l.Release(ctx); err != nil {
				t.Errorf("%q: %v", key, err)
			}
			<-time.After(2 * time.Millisecond)
		}
	}
	var leases []*client.Lease
	for i := range 20 { // in different slots, renewed by one pipeline
		leases = append(leases, must[*client.Lease](t)(a.Acquire(ctx, fmt.Sprint("k", i))))
	}
	renewed := make(chan bool, 1000)
	for _, l := range leases {
		l.Observe(func(e client.Event) { renewed <- e.Kind == client.EventRenewed })
	}
	for range 2 * len(leases) {
		if !<-renewed {
			t.Fatal("a renewal failed")
		}
	}
	for _, l := range leases {
		if err := l.Release(ctx); err != nil {
			t.Error(err)
		}
	}
}
