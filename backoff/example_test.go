package backoff_test

import (
	"context"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/client"
)

// newClient returns a Client on a simulated Redis, that Redis, and what stops both.
func newClient(opts ...client.Option) (c *client.Client, server *miniredis.Miniredis, stop func()) {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	c, err = client.New(rdb, opts...)
	if err != nil {
		panic(err)
	}
	return c, server, func() {
		_ = c.Close(context.Background())
		_ = rdb.Close()
		server.Close()
	}
}
