package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/bench/internal/child"
	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

func TestMain(m *testing.M) {
	child.Main(roles)
	os.Exit(m.Run())
}

// Every scenario runs with every contender, nobody has a lock that another holds,
// and the page shows it all.
func TestAll(t *testing.T) {
	out := filepath.Join(t.TempDir(), "docs", "performance.md")
	s, err := parse([]string{"-quick", "-out", out}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	if err := s.run(redistest.Start(t).Addr(), &printed, t.Output()); err != nil {
		t.Fatal(err)
	}
	page := read(t, out)
	if printed.String() != page {
		t.Error("the page that was printed is not the one that was written")
	}
	_, faults, _ := strings.Cut(page, "## Noted during the run\n")
	faults, _, _ = strings.Cut(faults, "\n## ")
	for fault := range strings.Lines(strings.TrimSpace(faults)) {
		t.Log("noted:", strings.TrimSpace(fault))
		if strings.Contains(fault, "had the lock at once") {
			t.Error(fault)
		}
	}
	tables := tablesOf(page)
	for _, sc := range s.scenarios() {
		for _, m := range sc.Metrics {
			checkColumn(t, sc, m, tables[m.Section.Title])
		}
	}
	checkTables(t, tables)
	checkXML(t, read(t, strings.TrimSuffix(out, ".md")+".svg"))
}

// checkColumn wants a figure for every contender of the scenario. Only the hand-off
// of a contest in which nobody had the lock twice may have none.
func checkColumn(t *testing.T, sc scenario.Scenario, m *report.Metric, table [][]string) {
	t.Helper()
	if len(table) == 0 {
		t.Errorf("no table %q", m.Section.Title)
		return
	}
	column := -1
	for i, head := range table[0] {
		if head == m.Head {
			column = i
		}
	}
	if column < 0 {
		t.Errorf("%s: no column %q among %q", m.Section.Title, m.Head, table[0])
		return
	}
	for _, c := range sc.Contenders {
		found := false
		for _, row := range table {
			mayLack := strings.HasSuffix(m.Head, "hand-off p50")
			found = found || strings.Trim(row[0], "*") == c.Name && (mayLack || strings.ContainsAny(row[column], "0123456789"))
		}
		if !found {
			t.Errorf("%s: no figure for %s", sc.Name, c.Name)
		}
	}
}

// tablesOf returns the cells of the tables by the title above them, without the
// lines below the heads.
func tablesOf(page string) map[string][][]string {
	tables := make(map[string][][]string)
	title := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if t, ok := strings.CutPrefix(line, "## "); ok {
			title = t
		}
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") {
			continue
		}
		var cells []string
		for c := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(c))
		}
		tables[title] = append(tables[title], cells)
	}
	return tables
}

func checkTables(t *testing.T, tables map[string][][]string) {
	t.Helper()
	if len(tables["Summary"]) < 10 {
		t.Errorf("the summary has %d rows", len(tables["Summary"]))
	}
	for title, rows := range tables {
		for _, row := range rows {
			if len(row) != len(rows[0]) {
				t.Errorf("%s: row %q has %d cells, the head has %d", title, row, len(row), len(rows[0]))
			}
			if text := strings.Join(row, " "); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("%s: row %q", title, row)
			}
		}
	}
}

func checkXML(t *testing.T, text string) {
	t.Helper()
	bars := 0
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the chart: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			bars++
		}
	}
	if bars < 20 {
		t.Errorf("the chart has %d bars", bars)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-seconds", "-1"}, {"-scenario", "("}, {"file"}} {
		var usage bytes.Buffer
		if _, err := parse(args, &usage); err == nil || usage.Len() == 0 {
			t.Errorf("%q: error %v, usage %q", args, err, &usage)
		}
	}
	s, err := parse([]string{"-scenario", "no such"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.run("", io.Discard, io.Discard); err == nil {
		t.Error("ran without a scenario")
	}
}

// What Fatalf ends cleans up all the same.
func TestProgramCleansUp(t *testing.T) {
	var dir string
	code := func() (code int) {
		p := newProgram()
		defer p.end(&code)
		dir = p.TempDir()
		p.Fatalf("the end of a test")
		return 0
	}()
	if _, err := os.Stat(dir); code != 1 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("exit code %d, folder: %v", code, err)
	}
}
