package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fallback"
)

func init() { children["host"] = hostProcess }

// hostProcess takes one lock over and over, and tells when another process has it too.
// With an argument behind the directory it takes it once, and keeps it.
func hostProcess(ctx context.Context, rdb *redis.Client) error {
	dir, keep, _ := strings.Cut(os.Getenv(childArg), " ")
	hasty := hasty
	hasty.MinRequests, hasty.FailureRatio = 2, 0.01
	rdb = redis.NewClient(&redis.Options{Addr: rdb.Options().Addr, MaxRetries: -1, DialerRetries: 1})
	c, err := holdfast.New(rdb, holdfast.WithTTL(900*time.Millisecond), holdfast.WithBreaker(hasty),
		holdfast.WithLogger(slog.New(slog.DiscardHandler)),
		holdfast.WithAttemptTimeout(300*time.Millisecond), holdfast.WithCommandTimeout(400*time.Millisecond),
		holdfast.WithFallback(fallback.Policies{Default: fallback.Local{MaxTTL: time.Second, UnsafeSkipQuarantine: true, HostWide: filepath.Join(dir, "locks")}}))
	if err != nil {
		return err
	}
	flag := filepath.Join(dir, "inside")
	var modes [2]int
	mode := ""
	tell("ready")
	for ctx.Err() == nil {
		l, err := c.Acquire(ctx, "k")
		if err != nil {
			continue
		}
		if keep != "" {
			tell("held")
			<-ctx.Done()
		}
		f, err := os.OpenFile(flag, os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case errors.Is(err, fs.ErrExist):
			tell("overlap")
			return nil
		case err != nil:
			return err
		}
		f.Close()
		if now := fmt.Sprint(l.Degraded()); now != mode {
			mode = now
			if err := os.WriteFile(filepath.Join(dir, "degraded"), []byte(now), 0o600); err != nil {
				return err
			}
		}
		time.Sleep(time.Millisecond)
		if err := os.Remove(flag); err != nil {
			return err
		}
		if l.Degraded() {
			modes[1]++
		} else {
			modes[0]++
		}
		_ = l.Release(ctx)
		time.Sleep(3 * time.Millisecond) // for the others
	}
	tell("done %d %d", modes[0], modes[1])
	return nil
}

// Two processes of one host exclude each other while Redis is there, while it is gone,
// and over the change; and one that is killed frees its lock.
func TestHostWideProcesses(t *testing.T) {
	s := newSite(t)
	dir := t.TempDir()
	a, b := s.spawn("host", dir), s.spawn("host", dir)
	a.expect("ready")
	b.expect("ready")
	await := func(degraded string) {
		s.await("degraded: "+degraded, func() bool {
			now, _ := os.ReadFile(filepath.Join(dir, "degraded"))
			return string(now) == degraded
		})
		time.Sleep(500 * time.Millisecond) // one whose breaker is not open yet keeps the file for its tries
	}
	for range rounds(2, 10) {
		await("false")
		s.srv.Kill()
		await("true")
		s.srv.Restart()
	}
	s.srv.Kill()
	await("true")
	var redis, degraded int
	for _, c := range []*child{a, b} {
		c.signal(syscall.SIGTERM)
		var r, d int
		if _, err := fmt.Sscanf(c.expect("done"), "done %d %d", &r, &d); err != nil {
			t.Error(err)
		}
		redis, degraded = redis+r, degraded+d
	}
	if redis < 3 || degraded < 3 {
		t.Errorf("%d times by Redis, %d times degraded", redis, degraded)
	}
	dead := s.spawn("host", dir, "and keeps it")
	dead.expect("ready")
	dead.expect("held")
	dead.kill()
	next := s.spawn("host", dir)
	next.expect("ready")
	s.await("the next one is inside", func() bool {
		_, err := os.Stat(filepath.Join(dir, "inside"))
		return err == nil
	})
}
