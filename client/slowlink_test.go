package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// A reply to a renewal that comes after the renewal was given up counts all the
// same: on a slow link, to a server that does not know the script yet, it may be
// the only one that comes in time.
func TestALateReplyToARenewalCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy := redistest.NewSim(t).Proxy()
		c := realClient(t, proxy.Client(t, func(o *redis.Options) {
			o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		}), client.WithTTL(2*time.Second))
		l := must[*client.Lease](t)(c.Acquire(t.Context(), "k"))
		proxy.Delay(115 * time.Millisecond)
		time.Sleep(20 * time.Second)
		if l.Context().Err() != nil {
			t.Fatal(context.Cause(l.Context()))
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
