package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// The measures of the chart, in pixels.
const (
	chartColumns = 2
	panelWidth   = 470
	panelGap     = 28
	margin       = 16
	titleHeight  = 44 // of a panel
	barHeight    = 16
	barStep      = 24
	nameWidth    = 170
	valueWidth   = 70
)

// chartStyle has mid-tone bars, which show on both grounds, and a text colour for
// each.
const chartStyle = `
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
.ground { fill: #ffffff }
.title { font-weight: 600 }
.quiet { fill: #59636e; font-size: 12px }
.rival { fill: #8c96a3 }
.floor { fill: none; stroke: #8c96a3; stroke-dasharray: 4 3 }
.ours { fill: #2f81f7 }
.range { stroke: #1f2328; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .ground { fill: #0d1117 }
  .quiet { fill: #9198a1 }
  .range { stroke: #e6edf3 }
}
`

// SVG draws a panel of bars for each metric that is to be in the chart.
func (r *Report) SVG(w io.Writer) error {
	panels := r.headlines(func(m *Metric) bool { return m.Chart })
	var body strings.Builder
	top := float64(margin)
	for row := range slices.Chunk(panels, chartColumns) {
		height := 0.0
		for i, cells := range row {
			height = max(height, panel(&body, margin+float64(i)*(panelWidth+panelGap), top, cells))
		}
		top += height + panelGap
	}
	width := 2*margin + chartColumns*panelWidth + (chartColumns-1)*panelGap
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" role="img">
<title>holdfast beside other lock libraries</title>
<style>%s</style>
<rect class="ground" width="100%%" height="100%%"/>
%s</svg>
`, width, top, chartStyle, body.String())
	return err
}

// panel draws the bars of one metric and returns the height that it took.
func panel(b *strings.Builder, x, y float64, cells []Cell) float64 {
	m := cells[0].Metric
	say(b, x, y+14, "title", m.Headline)
	say(b, x, y+32, "quiet", direction(m.Better))
	scale := scaleOf(cells)
	y += titleHeight
	for _, c := range cells {
		bar(b, x, y, c, scale)
		y += barStep
	}
	return titleHeight + float64(len(cells))*barStep
}

func direction(d Direction) string {
	if d == Lower {
		return "less is better"
	}
	return "more is better"
}

// scaleOf returns the pixels for each unit of the metric.
func scaleOf(cells []Cell) float64 {
	most := 0.0
	for _, c := range cells {
		for _, v := range c.Values {
			most = max(most, v)
		}
	}
	if most == 0 {
		return 0
	}
	return (panelWidth - nameWidth - valueWidth) / most
}

func bar(b *strings.Builder, x, y float64, c Cell, scale float64) {
	middle := y + barHeight/2
	say(b, x, middle+4, "", c.Subject.Name)
	x += nameWidth
	median := c.Median()
	if math.IsNaN(median) {
		say(b, x, middle+4, "quiet", "no result")
		return
	}
	class := map[Kind]string{Rival: "rival", Floor: "floor", Ours: "ours"}[c.Subject.Kind]
	fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%d" rx="2"/>`+"\n",
		class, x, y, max(1, median*scale), barHeight)
	least, most := slices.Min(c.Values), slices.Max(c.Values)
	if (most-least)*scale >= 1 {
		fmt.Fprintf(b, `<path class="range" d="M%.1f %.1fH%.1f"/>`+"\n", x+least*scale, middle, x+most*scale)
	}
	say(b, x+most*scale+6, middle+4, "quiet", medianText(c))
}

func say(b *strings.Builder, x, y float64, class, text string) {
	if class != "" {
		class = fmt.Sprintf(` class="%s"`, class)
	}
	fmt.Fprintf(b, `<text%s x="%.1f" y="%.1f">`, class, x, y)
	xml.EscapeText(b, []byte(text)) // a Builder does not fail
	b.WriteString("</text>\n")
}
