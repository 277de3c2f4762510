package backoff_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/backoff"
	"github.com/holdfast-go/holdfast/client"
)

// A policy is a recipe: each BackOff that it makes begins anew.
func ExampleLimit() {
	policy := backoff.Limit(backoff.Constant(20*time.Millisecond), 2)
	for range 2 {
		b := policy.BackOff()
		fmt.Println(b.NextBackOff(), b.NextBackOff(), b.NextBackOff() < 0)
	}
	// Output:
	// 20ms 20ms true
	// 20ms 20ms true
}

// Pauses grow to the cap, and differ there too.
func ExampleExponential() {
	const limit = 250 * time.Millisecond
	b := backoff.Exponential(10*time.Millisecond, limit).BackOff()
	fmt.Println("at first:", b.NextBackOff() <= 10*time.Millisecond)
	for range 10 {
		b.NextBackOff()
	}
	one, another := b.NextBackOff(), b.NextBackOff()
	fmt.Println("at the cap:", limit/2 <= one && one <= limit)
	fmt.Println("alike:", one == another)
	// Output:
	// at first: true
	// at the cap: true
	// alike: false
}

// Bad values are told when the layer is made.
func ExamplePolicy() {
	fmt.Println(backoff.Exponential(time.Second, time.Millisecond).Err())
	_, err := backoff.Retry(backoff.WithContention(backoff.Constant(0)))
	fmt.Println(errors.Is(err, client.ErrInvalid))
	// Output:
	// holdfast: invalid argument: backoff: the first delay 1s must not be above the cap 1ms
	// true
}
