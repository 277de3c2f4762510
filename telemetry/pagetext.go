package telemetry

import (
	"fmt"
	"html/template"
	"time"
)

// pageFuncs are what the HTML of a page is made with.
var pageFuncs = template.FuncMap{
	"span":  spanText,
	"share": func(left, ttl float64) string { return fmt.Sprintf("%.3f", min(left/max(ttl, left, 1e-9), 1)) },
	"clock": func(t time.Time) string { return t.Format("15:04:05") },
	"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"worst": worstState,
	"oldest": func(s *snapshot) (age float64) {
		for _, c := range s.Classes {
			age = max(age, c.WaiterAge)
		}
		return age
	},
}

// spanText is a number of seconds for people, in three digits or so.
func spanText(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%d days", int(d.Hours())/24)
	}
}

// worstState is the state of the breaker that is in the worst one, empty for none.
func worstState(s *snapshot) (state string) {
	rank := map[string]int{"": 0, "closed": 1, "half-open": 2, "open": 3}
	for _, c := range s.Clients {
		for _, b := range c.Breakers {
			if rank[b.State] > rank[state] {
				state = b.State
			}
		}
	}
	return state
}
