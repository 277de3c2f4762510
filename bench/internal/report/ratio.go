package report

import "math"

// best returns the cell of that kind with the best median; ok is false if there is
// none.
func best(cells []Cell, k Kind) (found Cell, ok bool) {
	for _, c := range cells {
		if c.Subject.Kind != k || math.IsNaN(c.Median()) {
			continue
		}
		if !ok || better(c.Metric.Better, c.Median(), found.Median()) {
			found, ok = c, true
		}
	}
	return found, ok
}

func better(d Direction, a, b float64) bool {
	if d == Lower {
		return a < b
	}
	return a > b
}

// advantage is how many times as good a is as b: the median over the rounds, each
// of which compares what ran within the same moments. NaN if there is no such
// number.
func advantage(a, b Cell) float64 {
	n := min(len(a.Values), len(b.Values))
	ratios := make([]float64, 0, n)
	for i := range n {
		over, under := a.Values[i], b.Values[i]
		if a.Metric.Better == Lower {
			over, under = under, over
		}
		if under == 0 {
			return math.NaN()
		}
		ratios = append(ratios, over/under)
	}
	return Median(ratios)
}
