package scenario

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/bench/internal/child"
	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/delay"
)

// Env is where scenarios run: a redis-server, and proxies in front of it that make
// it more distant.
type Env struct {
	Addr   string        // of the server, which holds nothing that is worth keeping
	Length time.Duration // of one measurement

	admin   *redis.Client
	distant map[time.Duration]string // addresses by round-trip time
	proxies []*child.Process
}

// Open connects to the server.
func Open(addr string, length time.Duration) *Env {
	return &Env{
		Addr: addr, Length: length,
		admin:   redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: time.Minute}),
		distant: make(map[time.Duration]string),
	}
}

// Close ends the proxies.
func (e *Env) Close() error {
	err := e.admin.Close()
	for _, p := range e.proxies {
		err = errors.Join(err, p.Close())
	}
	return err
}

// ServerVersion returns the version of the server.
func (e *Env) ServerVersion() (string, error) {
	info, err := e.admin.InfoMap(context.Background(), "server").Result()
	return info["Server"]["redis_version"], err
}

// clear empties the server, and collects the garbage of those that ran before.
func (e *Env) clear() error {
	runtime.GC()
	return e.admin.FlushAll(context.Background()).Err()
}

// at returns the server's address at the end of a line with that round-trip time.
func (e *Env) at(rtt time.Duration) (string, error) {
	if rtt == 0 {
		return e.Addr, nil
	}
	if addr, ok := e.distant[rtt]; ok {
		return addr, nil
	}
	addr, proxy, err := delay.Start(e.Addr, rtt)
	if err != nil {
		return "", fmt.Errorf("start a proxy: %w", err)
	}
	e.proxies = append(e.proxies, proxy)
	e.distant[rtt] = addr
	return addr, nil
}

// scripts are the commands that run one, and others that no script can call.
var scripts = []string{"eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "subscribe", "ssubscribe"}

// Counted returns the names of the commands that count as sent by the clients of c.
func Counted(c contender.Contender) []string { return append(slices.Clone(scripts), c.Sends...) }

// commands returns how many commands the clients of c have sent to the server, as
// its INFO commandstats knows it. What scripts call is not among them, nor what
// sets up connections.
func (e *Env) commands(c contender.Contender) (n int64, err error) {
	text, err := e.admin.Info(context.Background(), "commandstats").Result()
	if err != nil {
		return 0, err
	}
	counted := Counted(c)
	for line := range strings.Lines(text) {
		if name, calls, ok := commandStat(line); ok && slices.Contains(counted, name) {
			n += calls
		}
	}
	return n, nil
}

// commandStat reads a line like "cmdstat_set:calls=3,usec=…".
func commandStat(line string) (name string, calls int64, ok bool) {
	rest, ok := strings.CutPrefix(line, "cmdstat_")
	name, fields, _ := strings.Cut(rest, ":calls=")
	count, _, _ := strings.Cut(fields, ",")
	calls, err := strconv.ParseInt(count, 10, 64)
	return name, calls, ok && err == nil
}
