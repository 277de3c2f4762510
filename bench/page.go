package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// compared are the modules whose versions the page gives.
var compared = []string{
	"github.com/redis/go-redis/v9",
	"github.com/go-redsync/redsync/v4",
	"github.com/bsm/redislock",
	"github.com/redis/rueidis",
}

// notes say how all was measured.
var notes = []string{
	"redis-server, the clients and the proxy share the machine, and reach each other over the loopback.",
	"go-redis clients have default options, among them a pool of ten connections for each core.",
	"redsync has its defaults, and tries until the wait is over.",
	"redislock does not wait by default: here it polls by its exponential strategy, from 16 ms, the least that its documentation recommends, to 250 ms. " +
		"Polling faster shortens the hand-off and multiplies the commands.",
	"rueidislock has a majority of 1, as there is one server; TryNextAfter of 2 s, since at its default of 20 ms an uncontended acquire may hang after a stall; " +
		"and NoLoopTracking, without which locks that were extended keep extending themselves.",
	"holdfast is holdfast.New with its defaults. No OpenTelemetry provider is set, save where the table is about that.",
	"The floors do by bare commands, SET NX and a compare-and-delete script, what a lock needs at least. They cannot wait.",
	"A contest for the hot key lasts two and a half times as long as other measurements, save at the longer round trips.",
	"Leases held are measured in a third of the rounds, since each takes longer than a TTL.",
}

func (s settings) intro(server string) []string {
	var versions []string
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			for _, path := range compared {
				if m.Path == path {
					versions = append(versions, strings.TrimPrefix(path, "github.com/")+" "+m.Version)
				}
			}
		}
	}
	paragraphs := []string{
		fmt.Sprintf("This page was written by `go run . %s` in [bench](../bench). Absolute figures drift with the machine and the hour; "+
			"those of one page were measured by turns and may be compared.", shell(s.args)),
		fmt.Sprintf("%d cores, %s/%s, %s, redis-server %s; %s. Rounds: %d, of %v s for each measurement. "+
			"Each figure is the median, with the least and the greatest in brackets.",
			runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), server, strings.Join(versions, ", "), s.rounds, s.seconds),
	}
	if s.quick {
		paragraphs = append(paragraphs, "**This was a quick run, to see that it works: the figures mean nothing.**")
	}
	return paragraphs
}

// shell writes arguments as one types them.
func shell(args []string) string {
	typed := make([]string, len(args))
	for i, a := range args {
		if strings.ContainsAny(a, " ()|^$*?[]\\") {
			a = "'" + a + "'"
		}
		typed[i] = a
	}
	return strings.Join(typed, " ")
}
