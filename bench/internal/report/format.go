package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// number shows v with two or three significant digits, and thousands as k.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case v == 0:
		return "0"
	case a >= 99_950:
		return fmt.Sprintf("%.0f k", v/1000)
	case a >= 999.5:
		return fmt.Sprintf("%.1f k", v/1000)
	case a >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case a >= 9.995:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// formatOf returns how the values of a cell are shown: counts in full, and
// thousands as k only without a unit, or with one that takes a k.
func formatOf(c Cell) func(float64) string {
	whole := !slices.ContainsFunc(append(slices.Clone(c.Values), c.Median()), func(v float64) bool { return v != math.Trunc(v) })
	return func(v float64) string {
		big := math.Abs(v) >= 999.5 && c.Metric.Unit != "" && c.Metric.Unit != "B"
		if (whole || big) && math.Abs(v) < 1e6 && !math.IsNaN(v) {
			return Thousands(int(math.Round(v)))
		}
		return number(v)
	}
}

// medianText is the median with its unit.
func medianText(c Cell) string {
	s := formatOf(c)(c.Median())
	switch {
	case c.Metric.Unit == "" || s == "–":
		return s
	case strings.HasSuffix(s, " k"):
		return s + c.Metric.Unit
	}
	return s + " " + c.Metric.Unit
}

// cellText is that, with the least and the greatest value where they differ.
func cellText(c Cell) string {
	s := medianText(c)
	if len(c.Values) == 0 {
		return s
	}
	show := formatOf(c)
	if least, most := show(slices.Min(c.Values)), show(slices.Max(c.Values)); least != most {
		s += fmt.Sprintf(" (%s–%s)", least, most)
	}
	return s
}

// escape keeps text from ending a cell of a Markdown table.
func escape(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// Thousands shows n with commas.
func Thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
