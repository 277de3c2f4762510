package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

const repository = "https://github.com/holdfast-go/holdfast/blob/main/"

// locks is the dashboard: a row for each question that somebody who is paged asks.
//
//lint:ignore SA1019 every Grafana imports the classic schema, and only new ones its successor
func locks() *dashboard.DashboardBuilder {
	//lint:ignore SA1019 as above
	b := dashboard.NewDashboardBuilder("holdfast: locks").
		Uid("holdfast-locks").
		Description("Distributed locks, as the processes see them that take them.").
		Tags([]string{"holdfast", "locks", "redis"}).
		Timezone(common.TimeZoneBrowser).
		Time("now-1h", "now").
		Refresh("30s").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")).
		WithVariable(variable("job", "Job", `label_values(holdfast_lease_count, job)`)).
		WithVariable(variable("instance", "Instance", `label_values(holdfast_lease_count{job=~"$job"}, instance)`)).
		WithVariable(variable("class", "Class", `label_values(holdfast_lease_count{job=~"$job"}, holdfast_class)`)).
		Link(link("Runbooks", "docs/runbooks/README.md")).
		Link(link("What each signal means", "docs/observability.md"))
	for _, r := range []row{now, slo, wait, contention, hold, renewal, resilience, redis} {
		b.WithRow(dashboard.NewRowBuilder(r.title))
		for _, p := range r.panels {
			b.WithPanel(p)
		}
	}
	return b
}

// row is a heading with its panels.
type row struct {
	title  string
	panels []cog.Builder[dashboard.Panel]
}

func variable(name, label, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).
		Label(label).
		Datasource(source).
		Query(dashboard.StringOrMap{String: &query}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).
		IncludeAll(true).
		AllValue(".*")
}

func link(title, path string) *dashboard.DashboardLinkBuilder {
	return dashboard.NewDashboardLinkBuilder(title).
		Type(dashboard.DashboardLinkTypeLink).
		Icon("doc").
		Url(repository + path).
		TargetBlank(true)
}

// source is the data source that the variable names.
var source = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
