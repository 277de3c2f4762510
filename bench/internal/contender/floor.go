package contender

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/bench/internal/report"
)

var (
	freeScript = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
	keepScript = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`)
)

// Pooled is a lock by two bare commands, SET NX and a compare-and-delete script,
// on the pool of connections of go-redis.
var Pooled = Contender{
	Name: "go-redis, pool", Kind: report.Floor, Sends: []string{"set"},
	Open: func(o Options) (Locks, error) {
		rdb := connect(o.Addr)
		return &floor{Options: o, rdb: rdb, cmds: rdb}, nil
	},
}

// pipelined is the same by go-redis's AutoPipeline, in which the commands of all
// callers share the round trips of one connection.
var pipelined = Contender{
	Name: "go-redis, AutoPipeline", Kind: report.Floor, Sends: []string{"set"},
	Open: func(o Options) (Locks, error) {
		rdb := connect(o.Addr)
		pipe, err := rdb.AutoPipeline()
		if err != nil {
			return nil, err
		}
		return &floor{Options: o, rdb: rdb, cmds: pipe}, nil
	},
}

type floor struct {
	Options
	rdb  *redis.Client // to close
	cmds interface {
		redis.Scripter
		SetArgs(ctx context.Context, key string, value any, a redis.SetArgs) *redis.StatusCmd
	}
}

func (f *floor) Acquire(ctx context.Context, key string) (Lease, error) {
	l := &floorLease{f, key, rand.Text()}
	if err := f.cmds.SetArgs(ctx, key, l.token, redis.SetArgs{Mode: "NX", TTL: f.TTL}).Err(); err != nil {
		return nil, failed(key, err) // redis.Nil: it is held
	}
	if f.Renew {
		return renewing(l, f.TTL/3, l.extend), nil
	}
	return l, nil
}

func (f *floor) Close() error { return f.rdb.Close() }

type floorLease struct {
	*floor
	key, token string
}

func (l *floorLease) Release(ctx context.Context) error {
	return held(freeScript.Run(ctx, l.cmds, []string{l.key}, l.token).Result())
}

func (l *floorLease) extend(ctx context.Context) error {
	return held(keepScript.Run(ctx, l.cmds, []string{l.key}, l.token, int64(l.TTL/time.Millisecond)).Result())
}
