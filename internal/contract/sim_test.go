package contract_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/contract"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

func TestSimulatedRedis(t *testing.T) {
	contract.Run(t, contract.Backend{TTL: 3 * time.Second, Virtual: true, Open: func(t *testing.T) contract.Store {
		proxy := redistest.NewSim(t).Proxy()
		return contract.Store{
			Client: func(opts ...client.Option) (*client.Client, error) {
				return client.New(proxy.Client(t, shortHandshake), append(opts, quiet())...)
			},
			Disturb: disturb(proxy, 500*time.Millisecond),
			Delay:   proxy.Delay,
		}
	}})
}

// shortHandshake leaves out the part of it over which go-redis holds a mutex: while
// a fault holds that up a bubble's clock would stand still.
func shortHandshake(o *redis.Options) {
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}
