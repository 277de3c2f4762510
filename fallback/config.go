package fallback

import (
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// Defaults of BreakerConfig.
const (
	DefaultName             = "redis"
	DefaultWindow           = 5 * time.Second
	DefaultMinRequests      = 5
	DefaultFailureRatio     = 0.5
	DefaultOpenTimeout      = 2 * time.Second
	DefaultHalfOpenRequests = 1
	DefaultProbeInterval    = time.Second
	DefaultProbeTimeout     = time.Second
)

// windowSteps is in how many steps the window moves on.
const windowSteps = 10

// BreakerConfig configures a Breaker. The zero value of a field stands for its
// default.
type BreakerConfig struct {
	// Name names the breaker in errors, logs and metrics. Default "redis".
	Name string
	// Window is the time over which commands are counted; it moves on in tenths.
	// A command counts for the tenth in which it was sent, so the window must be
	// well above the Client's command timeout. Where all commands fail, the breaker
	// of a busy Client opens when the successes from before have left the window, at
	// the latest. Default 5 s.
	Window time.Duration
	// MinRequests is how many commands must have ended within the window before
	// the breaker may open. Those that tell nothing of the server do not count.
	// Default 5.
	MinRequests int
	// FailureRatio is the share of failures, above 0 and at most 1, at which the
	// breaker opens. Default 0.5.
	FailureRatio float64
	// OpenTimeout is for how long the breaker refuses everything before it lets
	// attempts through on trial. Default 2 s.
	OpenTimeout time.Duration
	// HalfOpenRequests is how many attempts and probes a half-open breaker admits on
	// trial; all of them must succeed for it to close. Default 1.
	HalfOpenRequests int
	// ProbeInterval is the time between two probes while the breaker is not closed,
	// give or take a fifth. Default 1 s.
	ProbeInterval time.Duration
	// ProbeTimeout bounds one probe. Default 1 s.
	ProbeTimeout time.Duration
	// Logger gets one line per transition. Default slog.Default.
	Logger *slog.Logger
}

func (c BreakerConfig) withDefaults() (BreakerConfig, error) {
	if c.Name == "" {
		c.Name = DefaultName
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.FailureRatio == 0 {
		c.FailureRatio = DefaultFailureRatio
	}
	if !(c.FailureRatio > 0 && c.FailureRatio <= 1) {
		return c, invalid("failure ratio must be above 0 and at most 1, is %v", c.FailureRatio)
	}
	for _, n := range []struct {
		name  string
		field *int
		value int
	}{
		{"minimum of requests", &c.MinRequests, DefaultMinRequests},
		{"number of half-open requests", &c.HalfOpenRequests, DefaultHalfOpenRequests},
	} {
		if *n.field == 0 {
			*n.field = n.value
		}
		if *n.field < 0 || *n.field > math.MaxInt32 {
			return c, invalid("%s must be positive and at most %d, is %d", n.name, math.MaxInt32, *n.field)
		}
	}
	for _, d := range []struct {
		name  string
		field *time.Duration
		value time.Duration
	}{
		{"window", &c.Window, DefaultWindow},
		{"open timeout", &c.OpenTimeout, DefaultOpenTimeout},
		{"probe interval", &c.ProbeInterval, DefaultProbeInterval},
		{"probe timeout", &c.ProbeTimeout, DefaultProbeTimeout},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
		if *d.field < time.Millisecond {
			return c, invalid("%s must be at least 1ms, is %v", d.name, *d.field)
		}
	}
	return c, nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", client.ErrInvalid, fmt.Errorf(format, args...))
}
