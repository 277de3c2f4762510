package telemetry

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/client"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// A mark that moves keeps its age, and the other lane its order.
func TestMarkMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var from, to lane
		var old, middle, young, moved mark
		to.enter(&old, nil, time.Now())
		time.Sleep(time.Second)
		from.enter(&moved, "it", time.Now())
		time.Sleep(time.Second)
		to.enter(&middle, nil, time.Now())
		to.enter(&young, nil, time.Now())
		moved.move(&to)
		if n, _ := from.read(); n != 0 {
			t.Errorf("%d are left", n)
		}
		if n, age := to.read(); n != 4 || age != 2*time.Second {
			t.Errorf("%d, the oldest of %v", n, age)
		}
		old.leave()
		if n, age := to.read(); n != 3 || age != time.Second || moved.of != "it" {
			t.Errorf("%d, the oldest of %v", n, age)
		}
		moved.leave()
		middle.leave()
		young.leave()
		if n, _ := to.read(); n != 0 || to.head != nil || to.tail != nil {
			t.Errorf("%d are left", n)
		}
	})
}

// A promoted lease counts as one in Redis from then on, to its end.
func TestPromotedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		local := func(client.Handler) client.Handler {
			return func(_ context.Context, req client.Request) (*client.Lease, error) {
				req.Call().SetDegraded("outage")
				return client.NewLocalLease(req)
			}
		}
		c, err := client.New(redistest.NewSim(t).Client(), client.WithMiddleware(r.Middleware(), local))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		lease := acquire1(t, c)
		if got := text(r.span(t, "acquire default").Attributes()); !strings.Contains(got, "degraded.reason=outage degraded=true") {
			t.Errorf("the span has %s", got)
		}
		count := func(mode string) float64 { return r.metric(t, "holdfast.lease.count")["class=default mode="+mode].n }
		if count("degraded") != 1 || count("distributed") != 0 {
			t.Errorf("before: %v", r.metric(t, "holdfast.lease.count"))
		}
		if err := client.Promote(context.Background(), lease); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if count("degraded") != 0 || count("distributed") != 1 {
			t.Errorf("after: %v", r.metric(t, "holdfast.lease.count"))
		}
		release(t, lease)
		if n := r.metric(t, "holdfast.hold.duration")["class=default end_reason=released mode=distributed"].n; n != 1 {
			t.Errorf("holds: %v", r.metric(t, "holdfast.hold.duration"))
		}
		if got := r.metric(t, "holdfast.degraded.reconciliations"); len(got) != 4 {
			t.Errorf("reconciliations are %v, want four of 0", got)
		}
	})
}
