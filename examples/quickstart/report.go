package main

import (
	"context"
	"fmt"
	"time"
)

// whatTheSignalsSay collects what the workers have measured and traced.
func (s *story) whatTheSignalsSay(ctx context.Context) error {
	s.tally = tally{}
	if err := s.crew.tellAll(order{Do: doReport}); err != nil {
		return err
	}
	if err := s.until(ctx, func(t *tally) bool { return len(t.reports) == workers }); err != nil {
		return err
	}
	var m metrics
	all := make(spans)
	for _, e := range s.tally.reports {
		s.claim(e.Error == "", "worker %d did not end well: %s", e.Worker, e.Error)
		if e.Report != nil {
			m = append(m, e.Report.Series...)
			all.add(e.Worker, e.Report.Spans)
		}
	}
	s.table(m)
	s.trace(all)
	return nil
}

// table shows what is in the metrics.
func (s *story) table(m metrics) {
	s.title("The OpenTelemetry metrics of the %d processes, added up (acts 3 to 5)", workers)
	s.say("%-13s%-33s%7s%10s%10s", "class", "histogram", "count", "p50 *", "p99 *")
	for _, row := range []struct{ class, what, name, key, value string }{
		{classStock, "wait of those who got the lock", "holdfast.acquire.duration", "holdfast.outcome", "acquired"},
		{classStock, "hold", "holdfast.hold.duration", "holdfast.mode", "distributed"},
		{classBestsellers, "wait of those who got the lock", "holdfast.acquire.duration", "holdfast.outcome", "acquired"},
		{classBestsellers, "hold, lock in Redis", "holdfast.hold.duration", "holdfast.mode", "distributed"},
		{classBestsellers, "hold, degraded", "holdfast.hold.duration", "holdfast.mode", "degraded"},
	} {
		h := m.histogram(row.name, map[string]string{"holdfast.class": row.class, row.key: row.value})
		s.say("%-13s%-33s%7d%10s%10s", row.class, row.what, h.count(), short(h.quantile(0.50)), short(h.quantile(0.99)))
	}
	s.line("")
	for _, class := range []string{classStock, classBestsellers} {
		attrs := map[string]string{"holdfast.class": class}
		s.say("%-13sattempts  %s", class, list(m.by("holdfast.result", "holdfast.attempts", attrs)))
		s.say("%-13soutcomes  %s", "", list(m.by("holdfast.outcome", "holdfast.acquire.duration", attrs)))
	}
	s.say("* estimated from the buckets of the histogram")
}

// short is d with two or three digits, in ms or s.
func short(d time.Duration) string {
	switch ms := d.Seconds() * 1000; {
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.2f s", ms/1000)
	}
}
