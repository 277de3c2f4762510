package middleware_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/middleware"
)

// Ten goroutines of one process want the same lock. One at a time asks Redis, so
// none of them is refused and nobody has to poll.
func ExampleGate() {
	c, stop := newClient(client.WithLayer("gate", middleware.Gate()))
	defer stop()
	ctx := context.Background()

	stock := 10
	done := make(chan error)
	for range 10 {
		go func() {
			done <- c.Do(ctx, "stock", func(context.Context, *client.Lease) error {
				stock--
				return nil
			})
		}()
	}
	for range 10 {
		if err := <-done; err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("left:", stock)

	err := c.Do(ctx, "stock", func(context.Context, *client.Lease) error {
		_, err := c.TryAcquire(ctx, "stock") // asks nobody
		return err
	})
	var holder *client.HeldError
	fmt.Println("held in this process:", errors.As(err, &holder) && holder.Local)
	// Output:
	// left: 0
	// held in this process: true
}
