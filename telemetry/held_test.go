package telemetry

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"
)

func TestHeldProfile(t *testing.T) {
	c := newClient(t, newTelemetry(t, append(off(), WithPage(NewPage()))...).Middleware(), local)
	l := acquire1(t, c)
	tried, err := c.TryAcquire(context.Background(), "other")
	if err != nil {
		t.Fatal(err)
	}
	p := pprof.Lookup(HeldProfile)
	if p == nil || p.Count() != 2 {
		t.Fatalf("the profile is %v, want one of two leases", p)
	}
	var text bytes.Buffer
	if err := p.WriteTo(&text, 1); err != nil {
		t.Fatal(err)
	}
	var leaves []string
	for stack := range strings.SplitSeq(text.String(), "\n\n") {
		for line := range strings.SplitSeq(stack, "\n") {
			if f := strings.Fields(line); len(f) > 2 && f[0] == "#" {
				name, _, _ := strings.Cut(f[2][strings.LastIndex(f[2], ".")+1:], "+")
				leaves = append(leaves, name)
				break
			}
		}
	}
	if got := strings.Join(leaves, " "); got != "Acquire TryAcquire" && got != "TryAcquire Acquire" {
		t.Errorf("the stacks begin with %s, want Acquire and TryAcquire:\n%s", got, &text)
	}
	release(t, l)
	release(t, tried)
	if n := p.Count(); n != 0 {
		t.Errorf("%d leases are in the profile, want none", n)
	}
}
