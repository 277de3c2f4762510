package client

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

func TestSmoke(t *testing.T) {
	m := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: m.Addr()})
	defer rdb.Close()
	c, err := New(rdb)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	l, err := c.Acquire(ctx, "a", WithTTL(300*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(m.Dump())
	_, err = c.TryAcquire(ctx, "a")
	t.Log(err)
	info, err := c.Inspect(ctx, "a")
	t.Logf("%+v %v", info, err)
	time.Sleep(time.Second)
	if l.Context().Err() != nil {
		t.Fatal(context.Cause(l.Context()))
	}
	t.Log(l.Extend(ctx, time.Second), l.Deadline(), time.Now())
	if err := l.Release(ctx); err != nil {
		t.Fatal(err)
	}
	t.Log(context.Cause(l.Context()), l.Release(ctx))
	a, err := c.Acquire(ctx, "o", WithOwner("x"))
	t.Log(a.Fence())
	b, err := c.Acquire(ctx, "o", WithOwner("x"))
	t.Log(b.Fence())
	_, err = c.Acquire(ctx, "o")
	t.Log(err)
	t.Log(m.Dump())
	t.Log(a.Release(ctx), b.Release(ctx))
	t.Log(m.Dump())
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
}
