package report

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Markdown writes the page. chart is the name of the chart's file beside it, empty
// for none.
func (r *Report) Markdown(w io.Writer, chart string) error {
	var b strings.Builder
	b.WriteString("# Performance\n")
	for _, p := range r.Intro {
		fmt.Fprintf(&b, "\n%s\n", p)
	}
	if chart != "" {
		fmt.Fprintf(&b, "\n![Bars that compare the libraries; the figures are in the tables below](%s)\n", chart)
	}
	r.summary(&b)
	for _, s := range r.sections() {
		r.section(&b, s)
	}
	list(&b, "Noted during the run", r.Faults)
	list(&b, "How it is measured", r.Notes)
	_, err := io.WriteString(w, b.String())
	return err
}

func list(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	for _, i := range items {
		fmt.Fprintf(b, "- %s\n", i)
	}
}

// summary compares ours with the best rival and the best floor.
func (r *Report) summary(b *strings.Builder) {
	var rows []string
	for _, cells := range r.headlines(func(*Metric) bool { return true }) {
		ours, ok := best(cells, Ours)
		if !ok {
			continue
		}
		row := fmt.Sprintf("| %s | %s |", escape(ours.Metric.Headline), medianText(ours))
		for _, k := range []Kind{Rival, Floor} {
			row += against(ours, cells, k)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n## Summary\n\n")
	b.WriteString("\"Times as good\" is the median of the ratios of the rounds: above 1 holdfast is ahead, whichever way is better.\n\n")
	b.WriteString("| | holdfast | best rival | times as good | best floor | times as good |\n|---|--:|--:|--:|--:|--:|\n")
	b.WriteString(strings.Join(rows, "\n") + "\n")
}

func against(ours Cell, cells []Cell, k Kind) string {
	other, ok := best(cells, k)
	if !ok {
		return " | |"
	}
	times := ""
	if a := advantage(ours, other); !math.IsNaN(a) {
		times = number(a)
	}
	return fmt.Sprintf(" %s (%s) | %s |", medianText(other), escape(other.Subject.Name), times)
}

func (r *Report) section(b *strings.Builder, s *Section) {
	columns, rows, cells := r.table(s)
	fmt.Fprintf(b, "\n## %s\n\n", s.Title)
	if s.Text != "" {
		fmt.Fprintf(b, "%s\n\n", s.Text)
	}
	b.WriteString("| |")
	for _, m := range columns {
		fmt.Fprintf(b, " %s |", escape(m.Head))
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(columns)) + "\n")
	for _, row := range rows {
		name := escape(row.Name)
		if row.Kind == Ours {
			name = "**" + name + "**"
		}
		fmt.Fprintf(b, "| %s |", name)
		for _, m := range columns {
			text := ""
			if c, ok := cells[m][row]; ok {
				text = cellText(c)
			}
			fmt.Fprintf(b, " %s |", text)
		}
		b.WriteString("\n")
	}
}
