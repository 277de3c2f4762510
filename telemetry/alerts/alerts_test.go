package alerts

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	rules    = "holdfast.rules.yml"
	tests    = "holdfast.test.yml"
	slow     = "holdfast.slow.test.yml"
	runbooks = "../../docs/runbooks/"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// alerts are the names of the alerts.
func alerts(t *testing.T) (names []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(read(t, rules), -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) < 10 {
		t.Fatalf("only the alerts %v", names)
	}
	return names
}

// promtool runs the tool of that name. Where there is none the test is skipped, unless
// HOLDFAST_REQUIRE_PROMETHEUS is set.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_PROMETHEUS") == "" {
			t.Skip("there is no promtool on this machine")
		}
		t.Fatal(err)
	}
	if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestRulesAreValid(t *testing.T) { promtool(t, "check", "rules", rules) }

func TestRules(t *testing.T) { promtool(t, "test", "rules", tests, slow) }

// Each alert is tested both ways, and has a page that says what to do.
func TestEachAlertIsWhole(t *testing.T) {
	tested := read(t, tests) + read(t, slow)
	for _, name := range alerts(t) {
		if !regexp.MustCompile(`- name: ` + name + `(, \w+,)? fires\n`).MatchString(tested) {
			t.Errorf("%s is never seen to fire", name)
		}
		if !strings.Contains(tested, "- name: "+name+" does not fire\n") {
			t.Errorf("%s is never seen not to fire", name)
		}
		if !strings.Contains(read(t, rules), "runbook_url: https://github.com/holdfast-go/holdfast/blob/main/docs/runbooks/"+name+".md\n") {
			t.Errorf("%s has no link to its runbook", name)
		}
		page := read(t, runbooks+name+".md")
		for _, part := range []string{"# " + name + "\n", "\n## What it means\n", "\n## What to look at\n", "\n## What to do\n"} {
			if !strings.Contains("\n"+page, part) {
				t.Errorf("the runbook of %s lacks %q", name, strings.TrimSpace(part))
			}
		}
		if !strings.Contains(read(t, runbooks+"README.md"), "("+name+".md)") {
			t.Errorf("the index of the runbooks lacks %s", name)
		}
	}
	entries, err := os.ReadDir(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".md"); name != "README" && !slices.Contains(alerts(t), name) {
			t.Errorf("runbook %s is that of no alert", e.Name())
		}
	}
}
