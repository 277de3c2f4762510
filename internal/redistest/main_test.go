package redistest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/redistest/leaktest"
	"github.com/redis/go-redis/v9"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// recorder is a TB that notes what its user reports instead of reporting it.
type recorder struct {
	testing.TB
	mu                    sync.Mutex
	errors, fatals, skips string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors += fmt.Sprintf(format, args...)
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatals += fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

func (r *recorder) Skipf(format string, args ...any) {
	r.skips += fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// record runs fn as a test of its own would run, and returns what it reported.
func record(t *testing.T, fn func(tb testing.TB)) *recorder {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(r)
	}()
	<-done
	return r
}

// once makes a client send each command once, on one connection, and heed the
// deadline of its context.
func once(o *redis.Options) {
	o.MaxRetries, o.PoolSize, o.ContextTimeoutEnabled = -1, 1, true
}

// soon is a context for what is not going to happen.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for ok, for at most 20 s.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
	}
}
