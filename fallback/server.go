package fallback

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// server is which server it is that answers.
type server struct {
	asked atomic.Bool  // for the first time
	runID atomic.Value // string
}

// identify asks the server who it is, and logs where it is not the one that was there
// before. It is false where it got no answer. Where there may be several servers there
// is nothing to compare.
func (b *Breaker) identify() bool {
	single, ok := b.rdb.(*redis.Client)
	if !ok || !b.mayDegrade {
		return true
	}
	ctx, cancel := context.WithTimeout(b.background(b.ctx), b.cfg.ProbeTimeout)
	answer := make(chan string, 1)
	started := b.inBackground(func() {
		defer cancel()
		answer <- runID(ctx, single)
	})
	if !started {
		cancel()
		return false
	}
	select {
	case id := <-answer:
		if id == "" {
			return false
		}
		if before, _ := b.server.runID.Swap(id).(string); before != "" && before != id {
			b.cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn,
				"holdfast: Redis was restarted, or another server has its place: locks that it had granted may be gone",
				slog.String("breaker", b.cfg.Name), slog.String("before", before), slog.String("now", id))
		}
		return true
	case <-ctx.Done():
		return false
	}
}

// meet has the server asked who it is when it has answered for the first time, to know
// it again after an outage.
func (b *Breaker) meet() {
	if b.mayDegrade && b.attached.Load() && b.server.asked.CompareAndSwap(false, true) {
		b.inBackground(func() { b.identify() })
	}
}

// runID is a name that a server gives itself each time it starts, empty where it does
// not tell.
func runID(ctx context.Context, rdb *redis.Client) (id string) {
	defer func() { _ = recover() }() // of a hook in the redis client
	info, err := rdb.Info(ctx, "server").Result()
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(info, "\nrun_id:")
	id, _, _ = strings.Cut(rest, "\n")
	return strings.TrimSpace(id)
}
