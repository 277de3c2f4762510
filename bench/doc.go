// Bench compares holdfast with the bare commands and with other lock libraries for
// Go, on a redis-server that it starts for itself:
//
//	cd bench
//	go run . -out ../docs/performance.md
//
// That takes about a quarter of an hour, writes the page and its chart,
// performance.svg beside it, and prints the page. It needs a redis-server on PATH,
// 7.0.5 or newer for the sake of rueidislock, and leaves nothing behind.
//
//	-rounds n      how often each measurement runs (3)
//	-seconds s     the length of one (2)
//	-scenario re   only those whose name matches: uncontended/64, hot/1-process,
//	               hot/4-processes, rtt/10ms/pairs, held/50000, telemetry, ...
//	-list          print the names
//	-quick         all small and one round: to see that it works
//	-out file      where to write the page; the chart goes beside it
//
// Within a round the contenders take their turns in each scenario, so that what is
// compared ran within moments of each other; each round begins with another one.
// Figures are medians over the rounds, with the least and the greatest. They differ
// from machine to machine and hour to hour: compare the figures of one run alone.
//
// A contender is a file in internal/contender, a scenario one in internal/scenario.
//
// The cost of the layers by themselves, without a server, is for benchstat:
//
//	go test -run '^$' -bench . -count 10 .
//
// The tests run every scenario with every contender for a moment, and check that
// nobody had a lock that another held.
package main
