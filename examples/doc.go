// Package examples holds small programs, each runnable with one command on a
// machine with nothing but Go: where they need a Redis they bring a simulated one.
//
//	go run ./examples/quickstart   a flash sale in four processes: without a lock, with
//	                               one, through an outage of Redis, and what the
//	                               metrics and traces say of it
//	go run ./examples/custom       a middleware of one's own in ten lines
//	go run ./examples/cron         a job that runs once per tick, on one of many hosts
//	go run ./examples/degraded     Redis is killed and started again under load: the
//	                               timeline of a class that goes on meanwhile
//	cd examples/observability && go run .   what an SRE sees: page, alerts, traces
package examples
