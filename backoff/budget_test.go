package backoff

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestBudgetAllowsItsBurstThenAShareOfCalls(t *testing.T) {
	b := newBudget(0.1, 10)
	spend := func() (n int) {
		for b.retry() {
			n++
		}
		return n
	}
	b.call() // it is full already
	if n := spend(); n != 10 {
		t.Errorf("%d retries at first, want 10", n)
	}
	for i := range 100 {
		b.call()
		if got, want := b.retry(), i%10 == 9; got != want {
			t.Errorf("call %d: retry %t, want %t", i, got, want)
		}
	}
	for range 1000 {
		b.call()
	}
	if n := spend(); n != 10 {
		t.Errorf("%d retries after a thousand calls, want 10", n)
	}
}

func TestBudgetLosesNothingToConcurrency(t *testing.T) {
	b := newBudget(0.5, 1000)
	var retries atomic.Int64
	together := func(n int, do func()) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range n {
					do()
				}
			})
		}
		wg.Wait()
	}
	spend := func() {
		if b.retry() {
			retries.Add(1)
		}
	}
	together(1000, spend)
	if n := retries.Swap(0); n != 1000 {
		t.Errorf("%d retries, want 1000", n)
	}
	together(100, b.call)
	together(1000, spend)
	if n := retries.Load(); n != 400 {
		t.Errorf("%d retries after 800 calls, want 400", n)
	}
}
