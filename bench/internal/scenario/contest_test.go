package scenario

import (
	"testing"
	"time"
)

func TestContest(t *testing.T) {
	c := contest{
		Length: 100, End: 100,
		Contestants: []contestant{
			{Holds: []hold{{Asked: 0, From: 0, To: 20}, {Asked: 25, From: 60, To: 80}}, Waiting: 85},
			{Holds: []hold{{Asked: 0, From: 30, To: 50}}, Waiting: 52},
			{Waiting: 10, Failed: 2, First: "no luck"},
		},
	}
	for what, pair := range map[string][2]float64{
		"acquisitions": {float64(c.count()), 3},
		"share":        {c.share(), 0.6},
		"longest wait": {float64(c.longestWait()), 90}, // not over at the end
		"starved":      {float64(c.starved()), 1},
		"jain":         {c.jain(), 9. / (3 * 5)},
		"hand-off":     {float64(c.handOff()), 10},
		"overlaps":     {float64(c.overlaps()), 0},
		"faults":       {float64(len(c.faults())), 1},
		"rate":         {c.rate(), 3 / time.Duration(100).Seconds()},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %v, want %v", what, pair[0], pair[1])
		}
	}
}

func TestOverlapsAreFound(t *testing.T) {
	c := contest{Contestants: []contestant{
		{Holds: []hold{{From: 0, To: 100}, {From: 200, To: 300}}},
		{Holds: []hold{{From: 10, To: 20}, {From: 50, To: 60}, {From: 100, To: 200}}},
	}}
	if n := c.overlaps(); n != 2 || len(c.faults()) != 1 {
		t.Errorf("%d overlaps, faults %q, want 2", n, c.faults())
	}
}

func TestCommandStat(t *testing.T) {
	name, calls, ok := commandStat("cmdstat_evalsha:calls=12,usec=3,usec_per_call=0.25\r\n")
	if name != "evalsha" || calls != 12 || !ok {
		t.Errorf("%q, %d, %v", name, calls, ok)
	}
	if name, _, ok := commandStat("# Commandstats\r\n"); ok {
		t.Errorf("%q in a line that has none", name)
	}
}
