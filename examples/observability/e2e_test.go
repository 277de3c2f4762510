package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const dashboardFile = "../../telemetry/dashboards/holdfast.json"

// outageAlerts are those that an outage must have fire, and clear when it is over.
var outageAlerts = []string{"HoldfastErrorBudgetBurn", "HoldfastDegraded", "HoldfastDegradedTooLong", "HoldfastLeaseLost", "HoldfastRenewalFailing", "HoldfastReleaseNotOwner"}

// The example as it is, under a real Prometheus and with an outage in the middle: what
// the dashboard and the rules ask for is there, the alerts come and go, and a bucket of
// the wait histogram leads to the one who had the lock.
func TestAllOfIt(t *testing.T) {
	need(t, "prometheus", "HOLDFAST_REQUIRE_PROMETHEUS")
	s, err := open(t.Context())
	if s != nil {
		t.Cleanup(s.close)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := prom{t, s.metricsURL}
	pending := queries(t, p)
	total := len(pending)
	asking := func() bool {
		maps.DeleteFunc(pending, func(_, q string) bool { return len(p.values(q)) > 0 })
		return false
	}

	until(t, 30*time.Second, "a wait leads to its culprit", func() bool { asking(); return s.leadsToCulprit(p) })
	until(t, 20*time.Second, "native histograms", func() bool {
		return len(p.values(`histogram_quantile(0.99, sum(rate(holdfast_acquire_duration_seconds{instance="worker-3"}[10s])))`)) > 0 &&
			sum(p.values(`histogram_count(sum(rate(holdfast_hold_duration_seconds{instance="worker-3"}[10s])))`)) > 0
	})
	t.Run("page", func(t *testing.T) { screenshots(t, "http://"+s.pages[0]+"/debug/holdfast") })

	s.proxy.cut()
	fired := make(map[string]bool)
	until(t, 60*time.Second, "the alerts fire", func() bool {
		asking()
		maps.Copy(fired, p.firing())
		return containsAll(fired, outageAlerts)
	}, func() any { return slices.Sorted(maps.Keys(fired)) })
	until(t, 20*time.Second, "degraded leases", func() bool {
		asking()
		return sum(p.values(`holdfast_lease_count{holdfast_class="report", holdfast_mode="degraded"}`)) > 0
	})

	s.proxy.mend()
	until(t, 60*time.Second, "each query finds data", func() bool { asking(); return len(pending) == 0 }, func() any { return pending })
	until(t, 60*time.Second, "the alerts clear", func() bool {
		now := p.firing()
		return !slices.ContainsFunc(outageAlerts, func(name string) bool { return now[name] })
	}, func() any { return slices.Sorted(maps.Keys(p.firing())) })
	t.Logf("%d queries found data; fired: %v", total, slices.Sorted(maps.Keys(fired)))
}

// leadsToCulprit follows an exemplar of the wait histogram to its trace, and the link of
// its span to that of another process.
func (s *stage) leadsToCulprit(p prom) bool {
	p.Helper()
	for _, e := range p.exemplars(`holdfast_acquire_duration_seconds_bucket{holdfast_class="payout"}`) {
		w := s.sink.span(e.Labels["span_id"])
		if w == nil {
			continue
		}
		if w.Trace != e.Labels["trace_id"] || w.Name != "acquire payout" {
			p.Fatalf("the exemplar %v leads to the span %+v", e, w)
		}
		for _, id := range w.Links {
			if h := s.sink.span(id); h != nil && h.Process != w.Process && strings.HasPrefix(h.Name, "acquire ") {
				p.Logf("%s waited %.2f s for %s, as exemplar, trace and link tell", w.Process, w.Seconds, h.Process)
				return true
			}
		}
	}
	return false
}

var (
	variables  = strings.NewReplacer("$__rate_interval", "10s", "$job", ".*", "$instance", ".*", "$class", ".*")
	comparison = regexp.MustCompile(`\s(>=|<=|==|!=|>|<)\s+[0-9.]+(\s*\*\s*[0-9.]+)?`)
)

// queries are all of the dashboard and of the rules: of an alert what it compares,
// whether or not it is above its threshold.
func queries(t *testing.T, p prom) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for name, q := range p.rules() {
		all["rule "+name] = comparison.ReplaceAllString(q, "")
	}
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			all["panel "+panel.Title+" "+target.RefID] = variables.Replace(target.Expr)
		}
	}
	if len(all) < 50 {
		t.Fatalf("only %d queries", len(all))
	}
	return all
}

// until waits for what is to come; state, if given, is told where it does not.
func until(t *testing.T, patience time.Duration, what string, done func() bool, state ...func() any) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(500 * time.Millisecond) {
		if time.Now().After(deadline) {
			for _, s := range state {
				t.Logf("now: %v", s())
			}
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

func containsAll(have map[string]bool, want []string) bool {
	return !slices.ContainsFunc(want, func(name string) bool { return !have[name] })
}

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
}

// The debug port serves the page, the profile and metrics with exemplars.
func TestDebugPort(t *testing.T) {
	s, err := open(t.Context())
	if s != nil {
		t.Cleanup(s.close)
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/debug/holdfast":                    "<h1>",
		"/debug/holdfast?format=json":        `"classes"`,
		"/debug/pprof/holdfast.held?debug=1": "holdfast.held profile",
		"/metrics":                           "holdfast_acquire_duration_seconds",
	} {
		until(t, 20*time.Second, path, func() bool {
			reply, err := http.Get("http://" + s.pages[1] + path)
			if err != nil {
				return false
			}
			defer reply.Body.Close()
			return strings.Contains(body(t, reply), want)
		})
	}
}
