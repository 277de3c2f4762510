package scenario

import (
	"math"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/report"
)

func (c contest) count() (n int) {
	for _, r := range c.Contestants {
		n += len(r.Holds)
	}
	return n
}

// rate is in acquisitions per second.
func (c contest) rate() float64 { return float64(c.count()) / c.Length.Seconds() }

// share is the part of the time during which somebody had the lock.
func (c contest) share() float64 {
	var sum int64
	for _, h := range c.inOrder() {
		sum += h.To - h.From
	}
	return float64(sum) / float64(c.Length)
}

// longestWait includes the waits that were still going on at the end.
func (c contest) longestWait() time.Duration {
	var longest int64
	for _, r := range c.Contestants {
		for _, h := range r.Holds {
			longest = max(longest, h.From-h.Asked)
		}
		if r.Waiting > 0 {
			longest = max(longest, c.End-r.Waiting)
		}
	}
	return time.Duration(longest)
}

// starved counts those who never had the lock.
func (c contest) starved() (n int) {
	for _, r := range c.Contestants {
		if len(r.Holds) == 0 {
			n++
		}
	}
	return n
}

// jain is Jain's fairness index of the acquisitions: 1 if all had equally many, 1/n
// if one of n had them all. (R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of
// Fairness and Discrimination, 1984.)
func (c contest) jain() float64 {
	var sum, squares float64
	for _, r := range c.Contestants {
		x := float64(len(r.Holds))
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(c.Contestants)) * squares)
}

// handOff is the median time from a call of Release to the return of the next
// holder's Acquire, whoever that is.
func (c contest) handOff() time.Duration {
	all := c.inOrder()
	var gaps []float64
	for i := 1; i < len(all); i++ {
		gaps = append(gaps, float64(all[i].From-all[i-1].To))
	}
	if len(gaps) == 0 {
		return 0
	}
	return time.Duration(report.Median(gaps))
}
