package scenario

import (
	"fmt"
	"math"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/report"
)

// roundTrip is what a more distant Redis does to the others.
func roundTrip() []Scenario {
	var all []Scenario
	for _, ms := range []int{1, 10} {
		rtt := time.Duration(ms) * time.Millisecond
		trip := fmt.Sprintf("%d ms round trip", ms)
		s := &report.Section{
			Title: fmt.Sprintf("A round trip of %d ms", ms),
			Text: "Through a proxy that delays what it forwards. Pairs are those of 64 goroutines with a lock each. The hot key is " +
				"that of the sections above: 64 goroutines, 1 ms holds, in one process and over four.",
		}
		pairs := &report.Metric{Section: s, Head: "pairs/s", Better: report.Higher,
			Headline: trip + ": pairs/s, 64 goroutines", Chart: ms == 10}
		all = append(all,
			Scenario{
				Name:       fmt.Sprintf("rtt/%v/pairs", rtt),
				Contenders: contender.All(),
				Metrics:    []*report.Metric{pairs},
				Run:        func(e *Env, c contender.Contender) (Sample, error) { return runPairs(e, c, crowd, rtt) },
			},
			handOffOf(s, rtt, trip, "1-process", "one process", inProcess),
			handOffOf(s, rtt, trip, "4-processes", "4 processes", overProcesses),
		)
	}
	return all
}

func handOffOf(s *report.Section, rtt time.Duration, trip, name, where string, play player) Scenario {
	return Scenario{
		Name:       fmt.Sprintf("rtt/%v/hot/%s", rtt, name),
		Contenders: waiting(),
		Metrics: []*report.Metric{
			{Section: s, Head: where + ": acquisitions/s", Better: report.Higher,
				Headline: trip + ", hot key, " + where + ": acquisitions/s",
				Chart:    rtt == 10*time.Millisecond},
			{Section: s, Head: where + ": hand-off p50", Unit: "ms", Better: report.Lower,
				Headline: trip + ", hot key, " + where + ": hand-off p50"},
		},
		Run: func(e *Env, c contender.Contender) (Sample, error) {
			got, err := play(e, c, rtt, e.Length)
			if err != nil {
				return Sample{}, err
			}
			handOff := math.NaN()
			if got.count() > 1 {
				handOff = milliseconds(got.handOff())
			}
			return Sample{Values: []float64{got.rate(), handOff}, Faults: got.faults()}, nil
		},
	}
}
