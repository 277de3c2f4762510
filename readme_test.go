package holdfast_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The README's code is that of the Examples, which are compiled and run.
func TestReadmeCodeIsThatOfTheExamples(t *testing.T) {
	examples, readme := lines(t, "example_test.go"), read(t, "README.md")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme, -1)
	if len(blocks) < 2 {
		t.Fatalf("%d blocks of code", len(blocks))
	}
	if at := strings.Count(readme[:strings.Index(readme, "```go")], "\n"); at > 20 {
		t.Errorf("the first code is at line %d", at)
	}
	for _, b := range blocks {
		if !strings.Contains(examples, unindent(b[1])) {
			t.Errorf("no Example has this code:\n%s", b[1])
		}
	}
}

func TestReadmeNamesEveryLayer(t *testing.T) {
	readme := read(t, "README.md")
	for _, layer := range recommended {
		if !strings.Contains(readme, "| "+layer+" |") {
			t.Errorf("the README does not name the layer %q", layer)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func lines(t *testing.T, name string) string { return unindent(read(t, name)) }

// unindent takes the indentation off, since the README's code stands alone.
func unindent(code string) string {
	var out []string
	for line := range strings.Lines(code) {
		out = append(out, strings.TrimSpace(line))
	}
	return strings.Join(out, "\n")
}
