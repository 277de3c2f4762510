package middleware

import (
	"context"
	"errors"
	"log/slog"

	"github.com/holdfast-go/holdfast/client"
)

// Log writes a line to l when something happens to a lease that its holder should
// know of, and none while all is well. Nil is slog.Default at the time of this call.
//
//   - Warn: a lease ended as expired, lost, conflict or max_hold.
//   - Warn: Redis did not confirm a release, or the lease was not held any more.
//
// That renewals begin to fail or work again is logged by the Client, once for all
// leases.
//
// The attributes are key, class and fence (none on a degraded lease), with error
// where there is one; at an end reason, held_for and, for a loss, loss. The token
// is never among them. Lines carry the values of the context of the acquire, those
// of a release the values of its own.
func Log(l *slog.Logger) client.Middleware {
	if l == nil {
		l = slog.Default()
	}
	return func(next client.Handler) client.Handler {
		return func(ctx context.Context, req client.Request) (*client.Lease, error) {
			lease, err := next(ctx, req)
			if lease != nil {
				d := &diary{log: l, ctx: context.WithoutCancel(ctx)}
				lease.Observe(d.write)
			}
			return lease, err
		}
	}
}

// diary follows one lease. Its events come one after another.
type diary struct {
	log *slog.Logger
	ctx context.Context // of the acquire, for its values
}

func (d *diary) write(ev client.Event) {
	switch ev.Kind {
	case client.EventReleased:
		switch {
		case errors.Is(ev.Err, client.ErrNotHeld):
			d.line(slog.LevelWarn, "holdfast: a lease was released that was not held any more", ev)
		case ev.Err != nil:
			d.line(slog.LevelWarn, "holdfast: a release was not confirmed; the key goes by its TTL at the latest", ev)
		}
	case client.EventEnded:
		switch ev.Reason {
		case client.EndExpired, client.EndLost, client.EndConflict, client.EndMaxHold:
			d.line(slog.LevelWarn, "holdfast: a lease ended before its release", ev)
		}
	}
}

func (d *diary) line(level slog.Level, msg string, ev client.Event) {
	ctx := d.ctx
	if ev.Context != nil {
		ctx = ev.Context
	}
	if !d.log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 7)
	attrs = append(attrs, slog.String("key", ev.Lease.Key()), slog.String("class", ev.Lease.Class()))
	if fence, ok := ev.Lease.Fence(); ok {
		attrs = append(attrs, slog.Uint64("fence", fence))
	}
	if ev.Kind == client.EventEnded {
		attrs = append(attrs, slog.String("reason", string(ev.Reason)), slog.Duration("held_for", ev.Duration))
		if ev.Loss != "" {
			attrs = append(attrs, slog.String("loss", string(ev.Loss)))
		}
	}
	if ev.Err != nil {
		attrs = append(attrs, slog.Any("error", ev.Err))
	}
	d.log.LogAttrs(ctx, level, msg, attrs...)
}
