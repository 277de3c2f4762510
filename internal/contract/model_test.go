package contract

import "testing"

// The checker must find what it is there to find.
func TestTheCheckerJudges(t *testing.T) {
	granted := func(lease int, fence uint64) act { return act{actGranted, lease, fence} }
	ended := func(lease int) act { return act{kind: actEnded, lease: lease} }
	type op struct {
		act
		call, ret int64
	}
	for name, tc := range map[string]struct {
		ops  []op
		good bool
	}{
		"one after the other":             {[]op{{granted(1, 5), 0, 2}, {ended(1), 3, 4}, {granted(2, 6), 5, 6}, {ended(2), 7, 8}}, true},
		"two holders":                     {[]op{{granted(1, 5), 0, 2}, {granted(2, 6), 5, 6}, {ended(1), 7, 8}, {ended(2), 7, 8}}, false},
		"taken over while it is given up": {[]op{{granted(1, 5), 0, 2}, {granted(2, 6), 5, 9}, {ended(1), 7, 8}, {ended(2), 10, 11}}, true},
		"before the deadline":             {[]op{{granted(1, 5), 0, 2}, {granted(2, 6), 5, 6}, {ended(1), 100, never}, {ended(2), 200, never}}, false},
		"after the deadline":              {[]op{{granted(1, 5), 0, 2}, {ended(1), 100, never}, {granted(2, 6), 90, 101}, {ended(2), 200, never}}, true},
		"the fence falls":                 {[]op{{granted(1, 5), 0, 2}, {ended(1), 3, 4}, {granted(2, 4), 5, 6}, {ended(2), 7, 8}}, false},
		"the fence stays":                 {[]op{{granted(1, 5), 0, 2}, {ended(1), 3, 4}, {granted(2, 5), 5, 6}, {ended(2), 7, 8}}, false},
		"refused while held":              {[]op{{granted(1, 5), 0, 2}, {act{kind: actHeld}, 3, 4}, {ended(1), 5, 6}}, true},
		"refused while free":              {[]op{{granted(1, 5), 0, 2}, {ended(1), 3, 4}, {act{kind: actHeld}, 5, 6}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder()
			for _, o := range tc.ops {
				r.add(o.act, o.call, o.ret)
			}
			if err := r.check(); (err == nil) != tc.good {
				t.Error(err)
			}
		})
	}
	t.Run("refused by an unknown grant", func(t *testing.T) {
		r := newRecorder()
		r.unsure()
		r.add(act{kind: actHeld}, 5, 6)
		if err := r.check(); err != nil {
			t.Error(err)
		}
	})
}
