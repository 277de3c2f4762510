package backoff

import (
	"errors"
	"math"
	"testing"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"

	"github.com/holdfast-go/holdfast/client"
)

const ms = time.Millisecond

func TestPoliciesRefuseBadArguments(t *testing.T) {
	for name, p := range map[string]Policy{
		"empty":                    {},
		"constant of 0":            Constant(0),
		"negative constant":        Constant(-time.Second),
		"constant of a nanosecond": Constant(1),
		"constant too long":        Constant(math.MaxInt64),
		"exponential from 0":       Exponential(0, time.Second),
		"exponential above cap":    Exponential(2*time.Second, time.Second),
		"exponential too long":     Exponential(ms, math.MaxInt64),
		"decorrelated from 0":      Decorrelated(0, time.Second),
		"decorrelated above cap":   Decorrelated(2*time.Second, time.Second),
		"decorrelated at cap":      Decorrelated(time.Second, time.Second),
		"negative limit":           Limit(Constant(time.Second), -1),
		"limit of a bad policy":    Limit(Constant(0), 1),
		"custom of nil":            Custom(nil),
	} {
		if err := p.Err(); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
		if d := p.BackOff().NextBackOff(); d != cenkalti.Stop {
			t.Errorf("%s: pauses for %v, want a stop", name, d)
		}
	}
}

func TestBackOffsAreFresh(t *testing.T) {
	p := Limit(Constant(7*ms), 2)
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		b := p.BackOff()
		for i, want := range []time.Duration{7 * ms, 7 * ms, cenkalti.Stop, cenkalti.Stop} {
			if got := b.NextBackOff(); got != want {
				t.Errorf("pause %d is %v, want %v", i, got, want)
			}
		}
	}
	if d := Limit(Constant(ms), 0).BackOff().NextBackOff(); d != cenkalti.Stop {
		t.Errorf("a limit of 0 pauses for %v", d)
	}
}

func TestCustomPolicies(t *testing.T) {
	p := Custom(func() cenkalti.BackOff { return cenkalti.NewConstantBackOff(time.Second) })
	if d := p.BackOff().NextBackOff(); p.Err() != nil || d != time.Second {
		t.Errorf("pauses for %v, error %v", d, p.Err())
	}
	if d := Custom(func() cenkalti.BackOff { return nil }).BackOff().NextBackOff(); d != cenkalti.Stop {
		t.Errorf("no BackOff pauses for %v, want a stop", d)
	}
}

func TestExponentialDoublesUpToItsCap(t *testing.T) {
	for range 1000 {
		b := Exponential(10*ms, 250*ms).BackOff()
		for i, whole := range []time.Duration{10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 250 * ms, 250 * ms} {
			if d := b.NextBackOff(); d < whole/2-time.Microsecond || d > whole {
				t.Fatalf("pause %d is %v, want %v to %v", i, d, whole/2, whole)
			}
		}
	}
}

func TestExponentialNeverEndsByItself(t *testing.T) {
	b := Exponential(24*time.Hour, 24*time.Hour).BackOff()
	for range 10_000 {
		if d := b.NextBackOff(); d < 12*time.Hour {
			t.Fatalf("pauses for %v", d)
		}
	}
}

func TestDecorrelatedStaysInItsRange(t *testing.T) {
	b := Decorrelated(10*ms, 250*ms).BackOff()
	last, longest := 10*ms, time.Duration(0)
	for range 10_000 {
		d := b.NextBackOff()
		if d < 10*ms || d > min(3*last, 250*ms) {
			t.Fatalf("pauses for %v after %v", d, last)
		}
		last, longest = d, max(longest, d)
	}
	if longest < 200*ms {
		t.Errorf("the longest pause is %v: it does not grow", longest)
	}
	b.Reset()
	if d := b.NextBackOff(); d > 30*ms {
		t.Errorf("pauses for %v after a reset", d)
	}
}

// C121: pauses at the cap are not all the same.
func TestJitterComesAfterTheCap(t *testing.T) {
	const limit, samples = 5 * time.Second, 10_000
	for name, p := range map[string]Policy{
		"exponential":  Exponential(100*ms, limit),
		"decorrelated": Decorrelated(100*ms, limit),
	} {
		b := p.BackOff()
		for range 20 {
			b.NextBackOff()
		}
		equal := 0
		for range samples {
			if d := b.NextBackOff(); d == limit {
				equal++
			} else if d > limit {
				t.Fatalf("%s: %v is above the cap", name, d)
			}
		}
		if equal*10 >= samples {
			t.Errorf("%s: %d of %d pauses equal the cap", name, equal, samples)
		}
	}
}
