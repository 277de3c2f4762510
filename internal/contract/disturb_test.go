package contract_test

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/internal/redistest"
)

// disturb returns what loses, delays and holds up the traffic through p, each for
// up to most.
func disturb(p *redistest.Proxy, most time.Duration) func(ctx context.Context) {
	return func(ctx context.Context) {
		defer func() {
			p.Heal()
			p.Delay(0)
			p.ReleaseReplies()
		}()
		for ctx.Err() == nil {
			pause(ctx, rand.N(most))
			switch rand.N(6) {
			case 0:
				p.DropReplies(1 + rand.N(2))
			case 1:
				p.DropRepliesSilently(1)
			case 2:
				p.Delay(rand.N(most / 20))
			case 3:
				p.HoldReplies()
				pause(ctx, rand.N(most))
				p.ReleaseReplies()
			case 4:
				p.Cut()
				pause(ctx, rand.N(most))
				p.Heal()
			case 5:
				p.Reset()
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
