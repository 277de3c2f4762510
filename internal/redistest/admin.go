package redistest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// admin returns a client that sends what it is told, once, after a HELLO. Its
// time-outs bear a busy machine.
func (s *Server) admin() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                     s.Addr(),
		Protocol:                 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		MaxRetries:               -1,
		DialerRetries:            1,
		DialTimeout:              5 * time.Second,
		ReadTimeout:              10 * time.Second,
		WriteTimeout:             5 * time.Second,
	})
}

// Do runs one command over a connection of its own, with time-outs of its own,
// and returns the reply as go-redis decodes it; nil for a null reply. An error
// reply fails the test.
func (s *Server) Do(tb testing.TB, args ...any) any {
	tb.Helper()
	admin := s.admin()
	defer admin.Close()
	v, err := admin.Do(context.Background(), args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		tb.Fatalf("redistest: %v: %v", args, err)
	}
	return v
}

// Commands returns how often each command ran since the start of the server, or
// since CONFIG RESETSTAT, by its lower-case name; a subcommand counts as
// "client|setinfo". The server counts the commands that scripts call, and those of
// Do and Commands, among the rest: for what a client sent see Proxy.Stats.
func (s *Server) Commands(tb testing.TB) map[string]int64 {
	tb.Helper()
	text, _ := s.Do(tb, "INFO", "commandstats").(string)
	calls := make(map[string]int64)
	for line := range strings.Lines(text) {
		stat, ok := strings.CutPrefix(line, "cmdstat_")
		if !ok {
			continue
		}
		name, fields, _ := strings.Cut(stat, ":calls=")
		count, _, _ := strings.Cut(fields, ",")
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			tb.Fatalf("redistest: INFO commandstats: %q: %v", line, err)
		}
		calls[name] = n
	}
	return calls
}
