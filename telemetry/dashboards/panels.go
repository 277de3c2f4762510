package main

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// query is one query of a panel. In its expression $of stands for the labels that the
// variables choose, and $all for those without the class.
type query struct {
	expr   string
	legend string
}

func (q query) target(refID string) *prometheus.DataqueryBuilder {
	expr := strings.NewReplacer(
		"$of", `job=~"$job", instance=~"$instance", holdfast_class=~"$class"`,
		"$all", `job=~"$job", instance=~"$instance"`,
	).Replace(q.expr)
	return prometheus.NewDataqueryBuilder().Datasource(source).RefId(refID).Expr(expr).LegendFormat(q.legend)
}

// number shows the present value of q, which becomes yellow and red above the bounds.
func number(title, description, unit string, yellow, red float64, q query) *stat.PanelBuilder {
	return stat.NewPanelBuilder().
		Title(title).Description(description).Unit(unit).Datasource(source).
		Height(4).Span(4).
		GraphMode(common.BigValueGraphModeArea).
		ColorMode(common.BigValueColorModeValue).
		NoValue("0").
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		Thresholds(dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps([]dashboard.Threshold{
			{Color: "green"}, {Color: "yellow", Value: &yellow}, {Color: "red", Value: &red},
		})).
		WithTarget(q.target("A"))
}

// graph shows queries over time.
func graph(title, description, unit string, queries ...query) *timeseries.PanelBuilder {
	p := timeseries.NewPanelBuilder().
		Title(title).Description(description).Unit(unit).Datasource(source).
		Height(8).Span(8).Min(0).
		LineWidth(1.5).FillOpacity(8).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom).ShowLegend(true)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	for i, q := range queries {
		p.WithTarget(q.target(string(rune('A' + i))))
	}
	return p
}

// stacked is a graph whose series add up.
func stacked(title, description, unit string, queries ...query) *timeseries.PanelBuilder {
	return graph(title, description, unit, queries...).
		FillOpacity(30).
		Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A"))
}

// withExemplars adds a query whose dots lead to traces.
func withExemplars(p *timeseries.PanelBuilder, q query) *timeseries.PanelBuilder {
	return p.WithTarget(q.target("A").Exemplar(true))
}

// heat is a heat map of a histogram, given by its name without _bucket.
func heat(title, description, unit, histogram, labels string) *heatmap.PanelBuilder {
	q := query{"sum by (le) (increase(" + histogram + "_bucket{" + labels + "}[$__rate_interval]))", "{{le}}"}
	return heatmap.NewPanelBuilder().
		Title(title).Description(description).Datasource(source).
		Height(8).Span(8).
		Color(heatmap.NewHeatmapColorOptionsBuilder().Mode(heatmap.HeatmapColorModeScheme).Scheme("Oranges").Steps(64)).
		YAxis(heatmap.NewYAxisConfigBuilder().Unit(unit)).
		CellGap(1).
		ExemplarsColor("rgba(31, 120, 193, 0.9)").
		Tooltip(heatmap.NewHeatmapTooltipBuilder().Mode(common.TooltipDisplayModeSingle).YHistogram(true)).
		WithTarget(q.target("A").Format(prometheus.PromQueryFormatHeatmap).Exemplar(true))
}

func panels(all ...cog.Builder[dashboard.Panel]) []cog.Builder[dashboard.Panel] { return all }
