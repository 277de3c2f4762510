package main

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/redistest"
)

// mainEnv makes the test binary the program itself.
const mainEnv = "HOLDFAST_QUICKSTART_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" || os.Getenv(mainEnv) != "" {
		main()
		os.Exit(0)
	}
	logging.Disable()
	goleak.VerifyTestMain(m)
}

func TestQuickstart(t *testing.T) {
	t.Parallel()
	t.Run("simulated", func(t *testing.T) {
		t.Parallel()
		play(t, "")
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		play(t, "redis://"+s.Addr()+"/3")
		rdb := s.Client(t)
		if info, err := rdb.Info(t.Context(), "keyspace").Result(); err != nil || strings.Contains(info, "db3") {
			t.Errorf("keys are left: %v %s", err, info)
		}
	})
}

func play(t *testing.T, url string) {
	var out bytes.Buffer
	err := run(t.Context(), &out, url)
	o := output{t, out.String()}
	t.Logf("\n%s", o.text)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(o.text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("%d columns: %q", n, line)
		}
	}

	for _, unlocked := range []string{`1\. No lock`, `2\. A sync\.Mutex`} {
		n := o.numbers(unlocked + `[^$]*?Sold (\d+) of 50: OVERSOLD by (\d+)\.`)
		if n[0] <= units || n[1] != n[0]-units {
			t.Errorf("%s: sold %d, said to be oversold by %d", unlocked, n[0], n[1])
		}
	}
	o.numbers(`3\. A holdfast lock[^$]*?Sold 50 of 50, 0 left\.`)
	o.numbers(`5\. Redis is back[^$]*?Sold 50 of 50 in all, 0 left`)

	o.numbers(`Class "bestsellers" is Local`)
	if n := o.numbers(`(\d+) buyers were refused`)[0]; n < buyers/2 {
		t.Errorf("%d buyers were refused", n)
	}

	// What the metrics tell is what has happened: in two sales everybody had the lock
	// once, and who had it when Redis stopped came again, as did who was refused.
	marks := strings.Join(regexp.MustCompile(`(?m)^   [#.x?]+$`).FindAllString(o.text, -1), "")
	stock := output{t, regexp.MustCompile(`stock +attempts .*\n.*outcomes (.*)`).FindString(o.text)}
	if got, want := stock.numbers(`acquired (\d+)`)[0], 2*buyers+strings.Count(marks, string(unsure)); got != want {
		t.Errorf("the metrics have %d locks acquired, there were %d", got, want)
	}
	failed := 0
	_, outcomes, _ := strings.Cut(stock.text, "outcomes")
	for _, n := range regexp.MustCompile(`(?:rejected|error) \d+`).FindAllString(outcomes, -1) {
		failed += output{t, n}.numbers(`(\d+)`)[0]
	}
	if want := strings.Count(marks, string(refused)); failed != want {
		t.Errorf("the metrics have %d locks refused, there were %d", failed, want)
	}
	for _, row := range []string{"hold, lock in Redis", "hold, degraded"} {
		if n := o.numbers(row + ` +(\d+)`)[0]; n < workers {
			t.Errorf("%s: %d", row, n)
		}
	}

	n := o.numbers(`worker=(\d) buyer=\d+ trace=\w{8} .*\n.*acquire stock   outcome=acquired .*\n.*link to its blocker: worker (\d), granted .* before\n.*worker=(\d)`)
	if n[0] == n[1] || n[1] != n[2] {
		t.Errorf("the waiter of worker %d is blocked by worker %d, linked to worker %d", n[0], n[1], n[2])
	}
}

type output struct {
	t    *testing.T
	text string
}

// numbers returns what the groups of pattern have matched.
func (o output) numbers(pattern string) (numbers []int) {
	o.t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(o.text)
	if m == nil {
		o.t.Fatalf("%s is not in:\n%s", pattern, o.text)
	}
	for _, s := range m[1:] {
		n, err := strconv.Atoi(s)
		if err != nil {
			o.t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

func TestWrongClaimFailsTheRun(t *testing.T) {
	var out bytes.Buffer
	s := story{screen: &screen{w: &out}}
	s.claim(true, "as it should be")
	if err := s.epilogue(); err != nil {
		t.Fatal(err)
	}
	s.claim(false, "sold %d", 51)
	if err := s.epilogue(); err == nil || !strings.Contains(out.String(), "WRONG: sold 51\n") {
		t.Errorf("got %v and %q", err, &out)
	}
}

func TestUnreachableRedis(t *testing.T) {
	for _, url := range []string{"redis://127.0.0.1:1", "localhost", "http://localhost"} {
		var out bytes.Buffer
		if err := run(t.Context(), &out, url); err == nil || out.Len() > 0 {
			t.Errorf("%s: got %v and %q", url, err, &out)
		}
	}
}
