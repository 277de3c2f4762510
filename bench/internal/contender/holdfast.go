package contender

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/bench/internal/report"
)

// Holdfast is holdfast.New with its defaults, and with opts. No OpenTelemetry
// provider is set unless opts do so.
func Holdfast(name string, opts ...holdfast.Option) Contender {
	return Contender{
		Name: name, Kind: report.Ours, Waits: true,
		Open: func(o Options) (Locks, error) {
			rdb := connect(o.Addr)
			all := append([]holdfast.Option{
				holdfast.WithTTL(o.TTL), holdfast.WithLogger(slog.New(slog.DiscardHandler)),
			}, opts...)
			locks, err := holdfast.New(rdb, all...)
			if err != nil {
				rdb.Close()
				return nil, err
			}
			return holdfasts{rdb, locks}, nil
		},
	}
}

type holdfasts struct {
	rdb   *redis.Client
	locks *holdfast.Client
}

func (h holdfasts) Acquire(ctx context.Context, key string) (Lease, error) {
	l, err := h.locks.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (h holdfasts) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := h.locks.Close(ctx)
	if e := h.rdb.Close(); err == nil {
		err = e
	}
	return err
}
