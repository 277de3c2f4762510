package contract_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/contract"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

func TestRedis(t *testing.T) {
	server := redistest.Start(t)
	patient := client.WithCommandTimeout(5 * time.Second) // with a busy machine
	var spaces atomic.Int32
	contract.Run(t, contract.Backend{TTL: 2 * time.Second, Open: func(t *testing.T) contract.Store {
		space := client.WithPrefix(fmt.Sprintf("contract%d:", spaces.Add(1)))
		proxy := redistest.NewProxy(t, server.Addr())
		return contract.Store{
			Client: func(opts ...client.Option) (*client.Client, error) {
				return client.New(proxy.Client(t), append(opts, space, patient, quiet())...)
			},
			Disturb: disturb(proxy, 300*time.Millisecond),
			Delay:   proxy.Delay,
		}
	}})
}
