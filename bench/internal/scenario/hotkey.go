package scenario

import (
	"math"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/report"
)

const (
	crowd     = 64 // goroutines that contend
	processes = 4  // over which they are spread in some scenarios
)

func hotKey() []Scenario {
	one := &report.Section{
		Title: "One hot key, one process",
		Text: "64 goroutines take one lock, hold it for 1 ms, release it and ask again. Held is the share of the time during which " +
			"somebody holds it. Commands are those that reach Redis from clients, for each acquisition. The longest wait includes " +
			"those that are not over at the end. Jain's index is 1 when all get the lock equally often. Hand-off is the time " +
			"from the call of Release to the return of the next holder's Acquire.",
	}
	four := &report.Section{
		Title: "One hot key, four processes",
		Text:  "The same with 16 goroutines in each of 4 processes.",
	}
	return []Scenario{
		contestOf("hot/1-process", crowdMetrics(one, "one process"), inProcess),
		contestOf("hot/4-processes", crowdMetrics(four, "4 processes"), overProcesses),
	}
}

func crowdMetrics(s *report.Section, where string) []*report.Metric {
	return []*report.Metric{
		{Section: s, Head: "acquisitions/s", Better: report.Higher},
		{Section: s, Head: "held", Unit: "%", Better: report.Higher, Headline: "Hot key, " + where + ": share of the time held"},
		{Section: s, Head: "commands", Better: report.Lower, Headline: "Hot key, " + where + ": commands for each acquisition", Chart: true},
		{Section: s, Head: "longest wait", Unit: "ms", Better: report.Lower, Headline: "Hot key, " + where + ": longest wait", Chart: true},
		{Section: s, Head: "Jain", Better: report.Higher},
		{Section: s, Head: "starved", Better: report.Lower},
		{Section: s, Head: "hand-off p50", Unit: "ms", Better: report.Lower},
	}
}

// player plays a contest at the end of a line with that round-trip time.
type player func(e *Env, c contender.Contender, rtt, length time.Duration) (contest, error)

func contestOf(name string, metrics []*report.Metric, play player) Scenario {
	return Scenario{
		Name: name, Contenders: waiting(), Metrics: metrics,
		Run: func(e *Env, c contender.Contender) (Sample, error) {
			before, err := e.commands(c)
			if err != nil {
				return Sample{}, err
			}
			got, err := play(e, c, 0, e.Length*5/2) // longer, for it shows late who starves
			if err != nil {
				return Sample{}, err
			}
			after, err := e.commands(c)
			if err != nil {
				return Sample{}, err
			}
			return Sample{
				Values: []float64{
					got.rate(),
					100 * got.share(),
					perAcquisition(after-before, got.count()),
					milliseconds(got.longestWait()),
					got.jain(),
					float64(got.starved()),
					milliseconds(got.handOff()),
				},
				Faults: got.faults(),
			}, nil
		},
	}
}

func perAcquisition(commands int64, acquisitions int) float64 {
	if acquisitions == 0 {
		return math.NaN()
	}
	return float64(commands) / float64(acquisitions)
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// inProcess has all contend in this process.
func inProcess(e *Env, c contender.Contender, rtt, length time.Duration) (got contest, err error) {
	err = withLocks(e, c, rtt, func(l contender.Locks) error {
		pairs(l, 1, 0) // connects
		got, err = contend(l, crowd, length)
		return err
	})
	return got, err
}
