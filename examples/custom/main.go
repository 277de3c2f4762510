// Command custom adds two layers of its own to the pipeline. Each is a plain
// function of ten lines, as all layers are: one refuses the locks of tenants that
// are switched off, before anything is sent, and one speaks up when a lock was slow
// to come, and says who had it.
//
//	go run ./examples/custom
//
// needs no server: there is a simulated Redis inside.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "custom:", err)
		os.Exit(1)
	}
}

var errSwitchedOff = errors.New("the tenant is switched off")

func run(ctx context.Context, out io.Writer) error {
	switchedOff := map[string]bool{"globex": true}

	tenants := func(next holdfast.Handler) holdfast.Handler {
		return func(ctx context.Context, req holdfast.Request) (*holdfast.Lease, error) {
			tenant, _, _ := strings.Cut(req.Key, ":")
			if switchedOff[tenant] {
				return nil, errSwitchedOff
			}
			return next(ctx, req)
		}
	}

	slowWaits := func(next holdfast.Handler) holdfast.Handler {
		return func(ctx context.Context, req holdfast.Request) (*holdfast.Lease, error) {
			start := time.Now()
			lease, err := next(ctx, req)
			if _, holder := req.Call().Blockers(); holder != nil && time.Since(start) > 50*time.Millisecond {
				fmt.Fprintf(out, "audit: %s %q was slow to come: %s had it\n", req.Class, req.Key, holder.Holder)
			}
			return lease, err
		}
	}

	return demonstrate(ctx, out, holdfast.WithMiddleware(tenants, slowWaits))
}

// demonstrate has two processes, played by two Clients, take some locks. The layers
// are the second one's.
func demonstrate(ctx context.Context, out io.Writer, layers holdfast.Option) error {
	server, err := miniredis.Run()
	if err != nil {
		return err
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	billing, err := holdfast.New(rdb, holdfast.WithIdentity("billing"), holdfast.WithGate("billing"))
	if err != nil {
		return err
	}
	defer billing.Close(ctx)
	reports, err := holdfast.New(rdb, holdfast.WithIdentity("reports"), holdfast.WithGate("reports"), layers)
	if err != nil {
		return err
	}
	defer reports.Close(ctx)

	lease, err := billing.Acquire(ctx, "acme:invoices")
	if err != nil {
		return err
	}
	time.AfterFunc(300*time.Millisecond, func() { lease.Release(ctx) })

	for _, key := range []string{"acme:orders", "globex:orders", "acme:invoices"} {
		lease, err := reports.Acquire(ctx, key, holdfast.WithClass("report"))
		switch {
		case errors.Is(err, errSwitchedOff):
			fmt.Fprintf(out, "refused: %v\n", err)
		case err != nil:
			return err
		default:
			fmt.Fprintf(out, "acquired: %s\n", lease.Key())
			if err := lease.Release(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
