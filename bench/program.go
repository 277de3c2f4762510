package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
)

// program stands in for a test: redistest, which knows how to run a redis-server,
// asks for one. Of testing.TB it has what redistest needs to do that.
type program struct {
	testing.TB
	mu       sync.Mutex
	cleanups []func()
}

// failure is what Fatalf panics with; end recovers it.
type failure string

// newProgram cleans up when the process is interrupted, too.
func newProgram() *program {
	p := &program{}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		p.cleanUp()
		os.Exit(130)
	}()
	return p
}

// end is to be deferred by main: it cleans up, and makes a failure the exit code 1.
func (p *program) end(code *int) {
	r := recover()
	p.cleanUp()
	switch f, ok := r.(failure); {
	case ok:
		fmt.Fprintln(os.Stderr, "bench: "+string(f))
		*code = 1
	case r != nil:
		panic(r)
	}
}

func (p *program) cleanUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.cleanups) - 1; i >= 0; i-- {
		p.cleanups[i]()
	}
	p.cleanups = nil
}

// Cleanup has fn called at the end.
func (p *program) Cleanup(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleanups = append(p.cleanups, fn)
}

// TempDir returns a new folder, which is removed at the end.
func (p *program) TempDir() string {
	dir, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		p.Fatalf("%v", err)
	}
	p.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Fatalf ends the program.
func (p *program) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// Skipf ends it too: without a server there is nothing to measure.
func (p *program) Skipf(format string, args ...any) { p.Fatalf(format, args...) }

// Errorf reports what did not end the program.
func (p *program) Errorf(format string, args ...any) { p.Logf("bench: "+format, args...) }

// Logf writes to the standard error output.
func (p *program) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Failed is false: a program that failed has panicked.
func (p *program) Failed() bool { return false }

// Helper does nothing.
func (p *program) Helper() {}
