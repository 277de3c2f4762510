package contract_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/contract"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// TestThroughThePipeline: the recommended layers keep the contract. Each Client has
// a gate of its own, as in a process of its own.
func TestThroughThePipeline(t *testing.T) {
	contract.Run(t, contract.Backend{TTL: 3 * time.Second, Virtual: true, Open: func(t *testing.T) contract.Store {
		proxy := redistest.NewSim(t).Proxy()
		clients := 0
		return contract.Store{
			Client: func(opts ...client.Option) (*client.Client, error) {
				clients++
				gate := client.WithGate(strconv.Itoa(clients))
				return holdfast.New(proxy.Client(t, shortHandshake), append(opts, gate, quiet())...)
			},
			Disturb: disturb(proxy, 500*time.Millisecond),
			Delay:   proxy.Delay,
		}
	}})
}
