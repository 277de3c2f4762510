package middleware_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/middleware"
)

// A lease that is held too long is worth a line; one that is released is not.
func ExampleLog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key { // these differ from run to run
			case slog.TimeKey, "fence", "held_for", "error":
				return slog.Attr{}
			}
			return a
		},
	}))
	c, stop := newClient(client.WithLayer("log", middleware.Log(logger)), client.WithClass("report"))
	defer stop()
	ctx := context.Background()

	if lease, err := c.Acquire(ctx, "daily"); err == nil {
		_ = lease.Release(ctx)
	}
	lease, err := c.Acquire(ctx, "monthly", client.WithMaxHold(20*time.Millisecond))
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan struct{})
	lease.Observe(func(ev client.Event) {
		if ev.Kind == client.EventEnded {
			close(ended)
		}
	})
	<-ended
	// Output:
	// level=WARN msg="holdfast: a lease ended before its release" key=monthly class=report reason=max_hold
}
