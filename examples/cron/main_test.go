package main

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOncePerTick(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), &out)
	t.Logf("\n%s", &out)
	if err != nil {
		t.Fatal(err)
	}
	without, with, ok := strings.Cut(out.String(), "WithMinHold")
	if !ok || !strings.Contains(without, " times ") {
		t.Error("without a minimum hold the job did not run too often")
	}
	if n := strings.Count(with, "ran once "); n != ticks || strings.Contains(with, " times ") {
		t.Errorf("with a minimum hold %d of %d ticks ran once", n, ticks)
	}
}
