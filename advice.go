package holdfast

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/fallback"
)

// advice is what in the options of a Client asks for trouble, for those who look at
// its page.
func (s *settings) advice(rdb redis.UniversalClient) []string {
	return slices.Concat(redisAdvice(rdb, s.attemptTimeout), policyAdvice(s.policies), s.layerAdvice())
}

// redisAdvice looks at what go-redis does by itself beneath the pipeline.
func redisAdvice(rdb redis.UniversalClient, attempt time.Duration) (all []string) {
	var retries, dials int
	var read time.Duration
	var heeds bool
	switch c := rdb.(type) {
	case *redis.Client:
		o := c.Options()
		retries, dials, read, heeds = o.MaxRetries, o.DialerRetries, o.ReadTimeout, o.ContextTimeoutEnabled
	case *redis.ClusterClient:
		o := c.Options()
		retries, dials, read, heeds = o.MaxRetries, o.DialerRetries, o.ReadTimeout, o.ContextTimeoutEnabled
	default:
		return nil
	}
	if retries > 0 {
		all = append(all, fmt.Sprintf("go-redis repeats a failed command %d times, beneath the retries of the pipeline: an outage is noticed later. "+
			"Set MaxRetries to -1.", retries))
	}
	if dials > 1 {
		all = append(all, fmt.Sprintf("go-redis dials %d times before it gives up, beneath the retries of the pipeline: an outage is noticed later. "+
			"Set DialerRetries to 1.", dials))
	}
	if !heeds && read > 4*attempt {
		all = append(all, fmt.Sprintf("A command that Redis does not answer keeps its connection for %v, though its caller leaves after %v: in an outage the pool runs dry. "+
			"Set ContextTimeoutEnabled, or a shorter ReadTimeout.", read, attempt))
	}
	return all
}

func policyAdvice(p fallback.Policies) (all []string) {
	warn := func(which string, policy fallback.Policy) {
		if l, ok := policy.(fallback.Local); ok && l.UnsafeSkipQuarantine {
			all = append(all, which+" skips the quarantine: in every outage two processes may hold one of its locks at once. It is for locks that only save work.")
		}
	}
	warn("The default policy", p.Default)
	for _, class := range slices.Sorted(maps.Keys(p.Classes)) {
		warn(fmt.Sprintf("Class %q", class), p.Classes[class])
	}
	return all
}

// layerAdvice tells of layers that Replace has left out.
func (s *settings) layerAdvice() []string {
	var out []string
	for _, layer := range layerNames {
		if mw, replaced := s.replaced[layer]; replaced && mw == nil {
			out = append(out, layer)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return []string{"Left out of the pipeline: " + strings.Join(out, ", ") + "."}
}
