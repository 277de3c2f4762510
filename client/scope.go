package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// scopeOf names the locks that a Client reaches: Clients with equal scopes see the
// same locks, so within a process they share a gate.
func scopeOf(rdb redis.UniversalClient, prefix, gate string) string {
	return strings.Join([]string{endpoint(rdb), prefix, gate}, "\x00")
}

// endpoint names the server, or servers, behind rdb. Where the options do not tell
// (a Sentinel's master, a client of another type) it is rdb itself.
func endpoint(rdb redis.UniversalClient) string {
	switch c := rdb.(type) {
	case *redis.Client:
		if o := c.Options(); o.Addr != "FailoverClient" {
			return fmt.Sprintf("%s %s/%d", o.Network, o.Addr, o.DB)
		}
	case *redis.ClusterClient:
		return "cluster " + sorted(c.Options().Addrs)
	case *redis.Ring:
		var addrs []string
		for name, addr := range c.Options().Addrs {
			addrs = append(addrs, name+"="+addr)
		}
		return fmt.Sprintf("ring %s/%d", sorted(addrs), c.Options().DB)
	}
	return fmt.Sprintf("%T %p", rdb, rdb)
}

func sorted(s []string) string {
	s = slices.Clone(s)
	slices.Sort(s)
	return strings.Join(s, ",")
}
