package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/middleware"
)

// A server that answers nothing costs an attempt 30 ms, whatever the time-outs of
// the redis client are. That is a failure of Redis, not the caller's deadline.
func ExampleAttemptTimeout() {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer silent.Close()
	rdb := redis.NewClient(&redis.Options{Addr: silent.Addr().String(), DialerRetries: 1})
	defer rdb.Close()
	c, err := client.New(rdb, client.WithLayer("attempt timeout", middleware.AttemptTimeout(30*time.Millisecond)))
	if err != nil {
		fmt.Println(err)
		return
	}

	_, err = c.Acquire(context.Background(), "payout")
	var limit *client.TimeoutError
	if errors.As(err, &limit) {
		fmt.Println(limit.Limit, limit.After)
	}
	fmt.Println("unavailable:", errors.Is(err, client.ErrUnavailable))
	fmt.Println("deadline:", errors.Is(err, context.DeadlineExceeded))

	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.Close(ended) // does not wait for the server
	// Output:
	// attempt timeout 30ms
	// unavailable: true
	// deadline: false
}
