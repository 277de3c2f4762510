package contract

import (
	"math"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// badInput: what cannot be meant is refused, and nothing is written. C130, C131
func badInput(w *world) {
	a, b := w.client(), w.client()
	for name, opts := range map[string][]client.AcquireOption{
		"no TTL":            {client.WithTTL(0)},
		"negative TTL":      {client.WithTTL(-time.Second)},
		"microseconds":      {client.WithTTL(500 * time.Microsecond)},
		"overflow":          {client.WithTTL(math.MaxInt64)},
		"late renewal":      {client.WithTTL(time.Second), client.WithRenewalInterval(time.Second)},
		"tight renewal":     {client.WithTTL(time.Second), client.WithRenewalInterval(950 * time.Millisecond)},
		"two minds":         {client.WithoutRenewal(), client.WithRenewalInterval(w.ttl / 5)},
		"negative wait":     {client.WithWaitTimeout(-1)},
		"negative max hold": {client.WithMaxHold(-1)},
		"negative min hold": {client.WithMinHold(-1)},
		"no class":          {client.WithClass("")},
		"no owner":          {client.WithOwner("")},
		"nil option":        {nil},
	} {
		l, err := a.TryAcquire(w.ctx, "k", opts...)
		if l != nil {
			w.Errorf("%s: granted", name)
		}
		w.fails(err, client.ErrInvalid, "k")
	}
	for _, key := range []string{"", strings.Repeat("k", 5000)} {
		_, err := a.TryAcquire(w.ctx, key)
		if key != "" {
			w.fails(err, client.ErrInvalid, key)
		} else if err == nil {
			w.Error("an empty key was taken")
		}
	}
	l := w.take(b, "k")
	before := l.Deadline()
	for _, ttl := range []time.Duration{0, -1, time.Microsecond, math.MaxInt64} {
		w.fails(l.Extend(w.ctx, ttl), client.ErrInvalid, "k")
	}
	if l.Deadline().Before(before) {
		w.Error("a bad Extend moved the deadline")
	}
	w.release(l)
}
