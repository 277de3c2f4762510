package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/client"
)

// logbook is a Client with Log on a simulated Redis, and what it logged.
type logbook struct {
	*client.Client
	t     *testing.T
	redis *miniredis.Miniredis
	mu    sync.Mutex
	buf   bytes.Buffer
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func newLogbook(t *testing.T, layers ...client.Middleware) *logbook {
	t.Helper()
	b := &logbook{t: t, redis: miniredis.NewMiniRedis()}
	b.redis.ClockTTL(true)
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", MaxRetries: -1,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return b.redis.Dial() },
	})
	log := slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	b.Client, err = client.New(rdb, client.WithLogger(slog.New(slog.DiscardHandler)),
		client.WithMiddleware(append([]client.Middleware{Log(log)}, layers...)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		_ = rdb.Close()
		b.redis.Close()
	})
	return b
}

func (b *logbook) acquire(opts ...client.AcquireOption) *client.Lease {
	b.t.Helper()
	opts = append([]client.AcquireOption{client.WithClass("stock"), client.WithTTL(907 * time.Millisecond)}, opts...)
	lease, err := b.Acquire(b.t.Context(), "k", opts...)
	if err != nil {
		b.t.Fatal(err)
	}
	return lease
}

// lines returns what was logged since it was asked last, and checks what every
// line has.
func (b *logbook) lines(lease *client.Lease) []map[string]any {
	b.t.Helper()
	synctest.Wait()
	b.mu.Lock()
	text := b.buf.String()
	b.buf.Reset()
	b.mu.Unlock()
	if strings.Contains(text, lease.Token()) {
		b.t.Errorf("the token is in the log: %s", text)
	}
	var lines []map[string]any
	for dec := json.NewDecoder(strings.NewReader(text)); dec.More(); {
		var line map[string]any
		if err := dec.Decode(&line); err != nil {
			b.t.Fatal(err)
		}
		if line["key"] != "k" || line["class"] != "stock" {
			b.t.Errorf("key and class are missing: %v", line)
		}
		if fence, ok := lease.Fence(); ok != (line["fence"] != nil) || ok && line["fence"] != float64(fence) {
			b.t.Errorf("fence is %v, want %d %t", line["fence"], fence, ok)
		}
		lines = append(lines, line)
	}
	return lines
}

func (b *logbook) want(lease *client.Lease, want ...string) []map[string]any {
	b.t.Helper()
	lines := b.lines(lease)
	var got []string
	for _, line := range lines {
		got = append(got, line["level"].(string)+" "+line["msg"].(string))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		b.t.Errorf("logged\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return lines
}

const (
	endLine   = "WARN holdfast: a lease ended before its release"
	goneLine  = "WARN holdfast: a lease was released that was not held any more"
	unsureLog = "WARN holdfast: a release was not confirmed; the key goes by its TTL at the latest"
)

func TestLogIsSilentWhileAllIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newLogbook(t)
		lease := b.acquire()
		time.Sleep(10 * time.Second)
		if _, err := b.TryAcquire(t.Context(), "k"); !errors.Is(err, client.ErrNotAcquired) {
			t.Error(err)
		}
		release(t, lease)
		b.want(lease)
	})
}

func TestLogTellsWhyALeaseEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		opts   []client.AcquireOption
		layers []client.Middleware
		during func(*logbook)
		reason client.EndReason
		loss   client.LossReason
		lines  []string
	}{
		"expired":     {opts: []client.AcquireOption{client.WithoutRenewal()}, reason: client.EndExpired, loss: client.LossExpired, lines: []string{endLine}},
		"max hold":    {opts: []client.AcquireOption{client.WithMaxHold(500 * time.Millisecond)}, reason: client.EndMaxHold, lines: []string{endLine}},
		"taken":       {during: func(b *logbook) { _ = b.redis.Set("holdfast:{k}", "x") }, reason: client.EndLost, loss: client.LossTaken, lines: []string{endLine}},
		"gone":        {during: func(b *logbook) { b.redis.FlushAll() }, reason: client.EndLost, loss: client.LossExpired, lines: []string{endLine}},
		"unreachable": {during: func(b *logbook) { b.redis.SetError("LOADING") }, reason: client.EndLost, loss: client.LossUnreachable, lines: []string{endLine}},
		"degraded":    {layers: []client.Middleware{func(client.Handler) client.Handler { return grant }}, reason: client.EndExpired, loss: client.LossExpired, lines: []string{endLine}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newLogbook(t, tc.layers...)
				lease := b.acquire(tc.opts...)
				start := time.Now()
				if tc.during != nil {
					tc.during(b)
				}
				<-lease.Context().Done()
				lasted := time.Since(start)
				lines := b.want(lease, tc.lines...)
				b.redis.SetError("")
				if len(lines) != len(tc.lines) {
					return
				}
				end := lines[len(lines)-1]
				if end["reason"] != string(tc.reason) || tc.loss != "" && end["loss"] != string(tc.loss) || tc.loss == "" && end["loss"] != nil {
					t.Errorf("reason %v and loss %v, want %s and %s", end["reason"], end["loss"], tc.reason, tc.loss)
				}
				if end["held_for"] != float64(lasted) {
					t.Errorf("held for %v, want %v", end["held_for"], lasted)
				}
			})
		})
	}
}

func TestLogTellsOfReleasesThatFail(t *testing.T) {
	t.Run("not held", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newLogbook(t)
			lease := b.acquire()
			b.redis.FlushAll()
			if err := lease.Release(t.Context()); !errors.Is(err, client.ErrNotHeld) {
				t.Fatal(err)
			}
			b.want(lease, goneLine, endLine)
		})
	})
	t.Run("not confirmed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newLogbook(t)
			lease := b.acquire()
			b.redis.SetError("LOADING")
			if err := lease.Release(t.Context()); !errors.Is(err, client.ErrUnavailable) {
				t.Fatal(err)
			}
			b.want(lease, unsureLog)
			b.redis.SetError("")
		})
	})
}

func TestLogOfNilIsTheDefault(t *testing.T) {
	var buf bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&buf, nil)))
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, grant, Log(nil))
		lease, err := c.Acquire(t.Context(), "k", client.WithTTL(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		<-lease.Context().Done()
		synctest.Wait()
		if !strings.Contains(buf.String(), "expired") {
			t.Errorf("logged %q", buf.String())
		}
	})
}
