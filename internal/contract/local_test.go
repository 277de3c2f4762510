package contract_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/contract"
	"github.com/holdfast-go/holdfast/middleware"
)

// TestInsideTheProcess has the gate for a store, as it is while Redis is down and
// the class allows it.
func TestInsideTheProcess(t *testing.T) {
	contract.Run(t, contract.Backend{TTL: 3 * time.Second, Virtual: true, Local: true, Open: func(t *testing.T) contract.Store {
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: func(context.Context, string, string) (net.Conn, error) {
			t.Error("Redis was asked")
			return nil, errors.New("there is no Redis")
		}})
		t.Cleanup(func() { _ = rdb.Close() })
		return contract.Store{Client: func(opts ...client.Option) (*client.Client, error) {
			return client.New(rdb, append(opts, quiet(), client.WithPrefix(t.Name()),
				client.WithMiddleware(middleware.Gate(), grantLocally))...)
		}}
	}})
}

func grantLocally(client.Handler) client.Handler {
	return func(ctx context.Context, req client.Request) (*client.Lease, error) {
		if ctx.Err() != nil {
			return nil, client.WaitEnded(ctx, req, nil)
		}
		return client.NewLocalLease(req)
	}
}
