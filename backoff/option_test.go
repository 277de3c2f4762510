package backoff

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/client"
)

func TestRetryRefusesBadOptions(t *testing.T) {
	for name, o := range map[string]Option{
		"nil":              nil,
		"contention":       WithContention(Constant(0)),
		"infrastructure":   WithInfrastructure(Policy{}),
		"negative ratio":   WithBudget(-0.1, 10),
		"ratio above 1":    WithBudget(1.1, 10),
		"ratio that isn't": WithBudget(math.NaN(), 10),
		"no burst":         WithBudget(0.1, 0),
		"too much burst":   WithBudget(0.1, math.MaxInt),
	} {
		layer, err := Retry(o)
		if layer != nil || !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "holdfast: ") {
			t.Errorf("%s: %q does not begin with the library's name", name, err)
		}
	}
	for name, p := range map[string]Policy{"contention": defaults().contention, "infrastructure": defaults().infrastructure} {
		if err := p.Err(); err != nil {
			t.Errorf("the default for %s: %v", name, err)
		}
	}
}
