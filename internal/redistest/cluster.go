package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const slots = 16384

// Cluster is a Redis Cluster of masters without replicas.
type Cluster struct{ Nodes []*Server }

// StartCluster starts n nodes, as Start does each, shares the slots among them, and
// returns when all agree that the cluster is up.
func StartCluster(tb testing.TB, n int) *Cluster {
	tb.Helper()
	c := &Cluster{}
	for i := range n {
		node := Start(tb, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(freePort(tb)))
		node.Do(tb, "CLUSTER", "ADDSLOTSRANGE", i*slots/n, (i+1)*slots/n-1)
		node.Do(tb, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		c.Nodes = append(c.Nodes, node)
	}
	for _, node := range c.Nodes[1:] {
		bus := fmt.Sprint(node.Do(tb, "CONFIG", "GET", "cluster-port"))
		bus = bus[strings.LastIndexAny(bus, " :")+1:]
		c.Nodes[0].Do(tb, "CLUSTER", "MEET", "127.0.0.1", node.port, strings.Trim(bus, "]"))
	}
	for start := time.Now(); !c.up(tb); time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > startTimeout {
			tb.Fatal("redistest: the cluster does not get together")
		}
	}
	return c
}

// up tells whether every node knows all nodes and all slots.
func (c *Cluster) up(tb testing.TB) bool {
	for _, node := range c.Nodes {
		info := fmt.Sprint(node.Do(tb, "CLUSTER", "INFO"))
		if !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r", len(c.Nodes))) {
			return false
		}
	}
	return true
}

// Client returns a go-redis client of the cluster. The Cleanup of tb closes it.
func (c *Cluster) Client(tb testing.TB) *redis.ClusterClient {
	tb.Helper()
	var addrs []string
	for _, node := range c.Nodes {
		addrs = append(addrs, node.Addr())
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	tb.Cleanup(func() { rdb.Close() })
	return rdb
}
