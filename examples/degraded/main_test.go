package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/internal/redistest/leaktest"
)

func TestMain(m *testing.M) {
	logging.Disable()
	leaktest.Main(m)
}

func TestDegraded(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("redis-server")
	for name, path := range map[string]string{"real": path, "simulated": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err != nil && name == "real" {
				if os.Getenv("HOLDFAST_REQUIRE_REDIS") == "1" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			var out bytes.Buffer
			err := run(t.Context(), &out, path, plan{calm: 1500 * time.Millisecond, outage: 4 * time.Second, outages: 1})
			t.Logf("\n%s", &out)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{`█`, `▒`, `- redis is killed\n`, `- circuit breaker open\n`, `- degraded mode\n`,
				`- redis is started, empty\n`, `- degraded mode is over\n`, `0 overlaps inside this process`} {
				if !regexp.MustCompile(want).Match(out.Bytes()) {
					t.Errorf("%s is missing", want)
				}
			}
			for line := range strings.Lines(out.String()) {
				if n := len([]rune(line)); n > 81 {
					t.Errorf("%d columns: %q", n, line)
				}
			}
		})
	}
}

func TestOverlapFailsTheRun(t *testing.T) {
	tl := &timeline{out: new(bytes.Buffer), began: time.Now()}
	tl.granted(true)
	tl.granted(false)
	if err := tl.verdict(); err != nil {
		t.Fatal(err)
	}
	tl.overlap()
	if err := tl.verdict(); err == nil {
		t.Error("two in one lock are no error")
	}
}
