package scenario

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

func TestRoundsTakeTurns(t *testing.T) {
	e := Open(redistest.Start(t).Addr(), time.Millisecond)
	defer e.Close()
	var order []string
	fake := func(name string, slow bool) Scenario {
		return Scenario{
			Name: name, Slow: slow,
			Contenders: []contender.Contender{{Name: "a"}, {Name: "b"}},
			Metrics:    []*report.Metric{{Head: "first"}, {Head: "second"}},
			Run: func(_ *Env, c contender.Contender) (Sample, error) {
				order = append(order, name+c.Name)
				switch {
				case name == "2" && c.Name == "b":
					return Sample{}, errors.New("broken")
				case c.Name == "b":
					return Sample{Values: []float64{math.NaN(), 2}, Faults: []string{"odd"}}, nil
				}
				return Sample{Values: []float64{1, 2}}, nil
			},
		}
	}
	cells, faults := Measure(e, []Scenario{fake("1", false), fake("2", true)}, 3, io.Discard)
	if want := strings.Fields("1a 1b 2a 2b 1b 1a 1a 1b"); !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	var counts []int
	for _, c := range cells {
		counts = append(counts, len(c.Values))
	}
	if want := []int{3, 0, 3, 3, 1, 0, 1, 0}; !slices.Equal(counts, want) {
		t.Errorf("%v values in the cells, want %v", counts, want)
	}
	if want := []string{"1, b, round 1: odd", "2, b, round 1: broken", "1, b, round 2: odd", "1, b, round 3: odd"}; !slices.Equal(faults, want) {
		t.Errorf("faults %q, want %q", faults, want)
	}
}

// Scenarios have distinct names, by which they are selected.
func TestNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range All(false) {
		if seen[s.Name] {
			t.Errorf("two scenarios are called %s", s.Name)
		}
		seen[s.Name] = true
	}
}
