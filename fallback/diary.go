package fallback

import (
	"context"
	"log/slog"
)

// begins logs the first local grant of an outage. That of a drill was told of.
func (d *degrader) begins(o *outage, class string) {
	if o.drill {
		return
	}
	d.breaker.cfg.Logger.Warn("holdfast: degraded mode: locks exclude this process only",
		"breaker", d.breaker.cfg.Name, "class", class, "since", o.refusal.Since)
}

// ends logs that an outage with local grants is over.
func (b *Breaker) ends(t *transition) {
	tally := b.ledger.tallyOf(t.outage)
	if tally.grants == 0 {
		return
	}
	attrs := append([]slog.Attr{slog.String("breaker", b.cfg.Name), slog.Duration("after", t.after)}, tally.attrs()...)
	b.cfg.Logger.LogAttrs(context.Background(), slog.LevelInfo,
		"holdfast: degraded mode is over: locks are taken in Redis again", attrs...)
}

// attrs is the tally in a line of log.
func (t tally) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.Int("grants", t.grants)}
	for r, n := range t.results {
		attrs = append(attrs, slog.Int(Result(r).String(), n))
	}
	return attrs
}
