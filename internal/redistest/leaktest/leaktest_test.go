package leaktest

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { Main(m) }

func TestMainOverlooksTheWatcherOfGoRedis(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := redistest.Start(t)
	s.Kill()
	rdb := s.Client(t, func(o *redis.Options) { o.PoolSize, o.MaxRetries = 1, -1 })
	rdb.Ping(t.Context())
	rdb.Close()
	if err := goleak.Find(before, watcher); err != nil {
		t.Error(err)
	}
}
