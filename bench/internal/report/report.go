// Package report turns what was measured into a Markdown page and a chart.
package report

import (
	"math"
	"slices"
)

// Direction tells which values of a metric are the better ones.
type Direction int

// The directions.
const (
	Higher Direction = iota
	Lower
)

// Section is a table of the page.
type Section struct {
	Title string
	Text  string // what was measured, and how
}

// Metric is a column of a Section.
type Metric struct {
	Section *Section
	Head    string // of the column
	Unit    string // follows each value
	Better  Direction

	Headline string // puts the metric into the summary under this title, unless empty
	Chart    bool   // puts it into the chart too
}

// Kind says what part a row has in the comparison.
type Kind uint8

// The kinds.
const (
	Rival Kind = iota
	Floor      // the bare commands: what a library cannot be expected to beat
	Ours
)

// Subject is a row.
type Subject struct {
	Name string
	Kind Kind
}

// Cell has the values of one Metric for one Subject, one for each round.
type Cell struct {
	Metric  *Metric
	Subject Subject
	Values  []float64
}

// Report is all that was measured, in the order in which it is shown.
type Report struct {
	Intro  []string // paragraphs
	Cells  []Cell
	Faults []string // what went wrong meanwhile
	Notes  []string // how it was measured
}

// Median returns the median of the values, NaN if there are none.
func (c Cell) Median() float64 { return Median(c.Values) }

// Median returns the median of the values, NaN if there are none.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(n-1)/2] + s[n/2]) / 2
}

func (r *Report) sections() []*Section {
	var all []*Section
	for _, c := range r.Cells {
		if !slices.Contains(all, c.Metric.Section) {
			all = append(all, c.Metric.Section)
		}
	}
	return all
}

// table returns the columns and rows of a section, and its cells by both.
func (r *Report) table(s *Section) (columns []*Metric, rows []Subject, cells map[*Metric]map[Subject]Cell) {
	cells = make(map[*Metric]map[Subject]Cell)
	for _, c := range r.Cells {
		if c.Metric.Section != s {
			continue
		}
		if cells[c.Metric] == nil {
			cells[c.Metric] = make(map[Subject]Cell)
			columns = append(columns, c.Metric)
		}
		if !slices.Contains(rows, c.Subject) {
			rows = append(rows, c.Subject)
		}
		cells[c.Metric][c.Subject] = c
	}
	return columns, rows, cells
}

// headlines returns the cells of each metric that has a headline and meets want.
func (r *Report) headlines(want func(*Metric) bool) [][]Cell {
	var all [][]Cell
	at := make(map[*Metric]int)
	for _, c := range r.Cells {
		if c.Metric.Headline == "" || !want(c.Metric) {
			continue
		}
		i, ok := at[c.Metric]
		if !ok {
			i = len(all)
			at[c.Metric] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], c)
	}
	return all
}
