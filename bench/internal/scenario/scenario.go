// Package scenario has what is measured: each scenario in a file of its own, and
// the interleaved rounds in which all of them run.
package scenario

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/report"
)

// Scenario is one thing that is done with each contender in turn.
type Scenario struct {
	Name       string // by which it is selected
	Contenders []contender.Contender
	Metrics    []*report.Metric

	// Slow scenarios run in a third of the rounds, at least once.
	Slow bool

	// Run measures one contender once.
	Run func(*Env, contender.Contender) (Sample, error)
}

// Sample is what one measurement gave.
type Sample struct {
	Values []float64 // one for each metric of the scenario
	Faults []string  // what went wrong in a measurement that counts all the same
}

// All returns the scenarios, in the order of the report.
func All(quick bool) []Scenario {
	return slices.Concat(uncontended(), hotKey(), roundTrip(), held(quick), telemetryCost())
}

// Select returns those of the scenarios whose names match.
func Select(all []Scenario, name *regexp.Regexp) []Scenario {
	return slices.DeleteFunc(slices.Clone(all), func(s Scenario) bool { return !name.MatchString(s.Name) })
}

// Measure runs the scenarios, rounds times. Within a round all contenders take
// their turn in one scenario before the next begins, so that what is compared ran
// within moments; each round begins with another contender. It tells of its
// progress on log.
func Measure(e *Env, all []Scenario, rounds int, log io.Writer) (cells []report.Cell, faults []string) {
	index := make(map[*report.Metric]map[string]int)
	for _, s := range all {
		for _, m := range s.Metrics {
			index[m] = make(map[string]int)
			for _, c := range s.Contenders {
				index[m][c.Name] = len(cells)
				cells = append(cells, report.Cell{Metric: m, Subject: report.Subject{Name: c.Name, Kind: c.Kind}})
			}
		}
	}
	for round := range rounds {
		for _, s := range all {
			if s.Slow && round%3 != 0 {
				continue
			}
			for i := range s.Contenders {
				c := s.Contenders[(i+round)%len(s.Contenders)]
				start := time.Now()
				sample, err := s.run(e, c)
				where := fmt.Sprintf("%s, %s, round %d", s.Name, c.Name, round+1)
				fmt.Fprintf(log, "%-60s %6.1fs %.4g\n", where, time.Since(start).Seconds(), sample.Values)
				if err != nil {
					sample.Faults = append(sample.Faults, err.Error())
				}
				for _, f := range sample.Faults {
					faults = append(faults, where+": "+f)
				}
				if err != nil {
					continue
				}
				for j, v := range sample.Values {
					if cell := &cells[index[s.Metrics[j]][c.Name]]; !math.IsNaN(v) {
						cell.Values = append(cell.Values, v)
					}
				}
			}
		}
	}
	return cells, faults
}

// run measures on a server without data.
func (s Scenario) run(e *Env, c contender.Contender) (Sample, error) {
	if err := e.clear(); err != nil {
		return Sample{}, err
	}
	sample, err := s.Run(e, c)
	if err == nil && len(sample.Values) != len(s.Metrics) {
		err = fmt.Errorf("%d values for %d metrics", len(sample.Values), len(s.Metrics))
	}
	return sample, err
}

// waiting are the contenders that can wait for a holder.
func waiting() []contender.Contender {
	return slices.DeleteFunc(contender.All(), func(c contender.Contender) bool { return !c.Waits })
}
