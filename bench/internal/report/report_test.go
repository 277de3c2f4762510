package report

import (
	"math"
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.064: "0.06", 0.981: "0.98", 3: "3.00", 9.996: "10.0", 12.34: "12.3", 99.96: "100",
		321.4: "321", 999.6: "1.0 k", 8123.4: "8.1 k", 99_951.5: "100 k", 154_999.5: "155 k", math.NaN(): "–", math.Inf(1): "–",
	} {
		if got := number(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func TestCells(t *testing.T) {
	rate, bytes, wait := &Metric{}, &Metric{Unit: "B"}, &Metric{Unit: "ms"}
	for _, tc := range []struct {
		metric *Metric
		values []float64
		want   string
	}{
		{rate, []float64{8000.5, 7000.5, 9999}, "8.0 k (7.0 k–10.0 k)"},
		{rate, []float64{50_000}, "50,000"},
		{rate, []float64{0, 1, 1198}, "1 (0–1,198)"},
		{rate, []float64{2, 2.0004}, "2.00"},
		{bytes, []float64{10_400.5}, "10.4 kB"},
		{wait, []float64{2.5}, "2.50 ms"},
		{wait, []float64{1001.3, 2501.2, 99.9}, "1,001 ms (99.9–2,501)"},
		{wait, nil, "–"},
	} {
		if got := cellText(Cell{tc.metric, Subject{}, tc.values}); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.values, got, tc.want)
		}
	}
}

func TestAdvantageIsThatOfTheRounds(t *testing.T) {
	more, less := &Metric{Better: Higher}, &Metric{Better: Lower}
	for _, tc := range []struct {
		name string
		a, b Cell
		want float64
	}{
		{"more", Cell{more, Subject{}, []float64{2, 40, 6}}, Cell{more, Subject{}, []float64{1, 10, 2}}, 3},
		{"less", Cell{less, Subject{}, []float64{2, 4}}, Cell{less, Subject{}, []float64{4, 8}}, 2},
		{"less than nothing", Cell{less, Subject{}, []float64{0}}, Cell{less, Subject{}, []float64{4}}, math.NaN()},
		{"none", Cell{less, Subject{}, nil}, Cell{less, Subject{}, []float64{4}}, math.NaN()},
	} {
		if got := advantage(tc.a, tc.b); got != tc.want && !(math.IsNaN(got) && math.IsNaN(tc.want)) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func sample() *Report {
	s := &Section{Title: "Pairs", Text: "Of two."}
	rate := &Metric{Section: s, Head: "pairs/s", Better: Higher, Headline: "Pairs/s & more", Chart: true}
	wait := &Metric{Section: s, Head: "wait", Unit: "ms", Better: Lower}
	floor, rival, ours := Subject{"floor", Floor}, Subject{"ri|val", Rival}, Subject{"holdfast", Ours}
	return &Report{
		Intro: []string{"How."},
		Cells: []Cell{
			{rate, floor, []float64{4, 4}}, {rate, rival, []float64{1, 2}}, {rate, ours, []float64{2, 4}},
			{wait, rival, []float64{8}}, {wait, ours, nil},
		},
		Faults: []string{"one"},
	}
}

func TestMarkdown(t *testing.T) {
	const want = `# Performance

How.

![Bars that compare the libraries; the figures are in the tables below](chart.svg)

## Summary

"Times as good" is the median of the ratios of the rounds: above 1 holdfast is ahead, whichever way is better.

| | holdfast | best rival | times as good | best floor | times as good |
|---|--:|--:|--:|--:|--:|
| Pairs/s & more | 3 | 1.50 (ri\|val) | 2.00 | 4 (floor) | 0.75 |

## Pairs

Of two.

| | pairs/s | wait |
|---|--:|--:|
| floor | 4 |  |
| ri\|val | 1.50 (1.00–2.00) | 8 ms |
| **holdfast** | 3 (2–4) | – |

## Noted during the run

- one
`
	var b strings.Builder
	if err := sample().Markdown(&b, "chart.svg"); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}

func TestSVG(t *testing.T) {
	var b strings.Builder
	if err := sample().SVG(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Pairs/s &amp; more", "more is better", `class="ours"`, `class="floor"`, ">3</text>", "prefers-color-scheme: dark"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "wait") {
		t.Error("a metric that is not to be in the chart is")
	}
}
